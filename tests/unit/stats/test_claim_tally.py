"""Sums that never fall, of counters that do."""

from __future__ import annotations

from pgq_ops.stats.claim_tally import ClaimTally, Counted

A, B = (10, 1), (10, 2)


def _sums(tally: ClaimTally) -> tuple[int, float, int]:
    return tally.calls, tally.seconds, tally.rows


def test_what_was_counted_before_counts_and_then_what_comes() -> None:
    tally = ClaimTally()
    tally.add({A: Counted(10, 1.0, 8), B: Counted(5, 0.5, 0)})
    assert _sums(tally) == (15, 1.5, 8)
    tally.add({A: Counted(12, 1.25, 9), B: Counted(5, 0.5, 0)})
    assert _sums(tally) == (17, 1.75, 9)


def test_a_counter_that_began_anew_adds_all_it_has() -> None:
    tally = ClaimTally()
    tally.add({A: Counted(10, 1.0, 8)})
    tally.add({A: Counted(3, 0.25, 2)})
    assert _sums(tally) == (13, 1.25, 10)
    # Called as often as before the reset already, which its time or its rows give away.
    tally.add({A: Counted(3, 0.125, 2)})
    assert _sums(tally) == (16, 1.375, 12)


def test_one_that_says_when_it_began_is_known_to_have_begun_anew_also_once_it_has_more_than_before() -> None:
    tally = ClaimTally()
    tally.add({A: Counted(10, 1.0, 8, 100.0)})
    tally.add({A: Counted(12, 2.0, 9, 100.0)})
    assert _sums(tally) == (12, 2.0, 9)
    tally.add({A: Counted(20, 4.0, 10, 200.0)})
    assert _sums(tally) == (32, 6.0, 19)


def test_a_statement_that_is_gone_takes_nothing_away_and_comes_back_from_where_it_was() -> None:
    tally = ClaimTally()
    tally.add({A: Counted(10, 1.0, 8)})
    tally.add({})
    tally.add({B: Counted(1, 0.5, 1)})
    assert _sums(tally) == (11, 1.5, 9)
    tally.add({A: Counted(11, 1.0, 9)})
    assert _sums(tally) == (12, 1.5, 10)
