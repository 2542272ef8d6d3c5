"""Rates of rows, through counters that begin anew, gaps, clocks set back, and leaves that come and go."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgq_ops.stats.churn import ENOUGH_SECONDS, WINDOW_SECONDS, Churn, ChurnWatch
from pgq_ops.stats.table_health import LeafHealth, TableHealth
from pgq_ops.stats.vacuum_settings import ServerAutovacuum
from tests.unit.stats.test_vacuum_watch import LEAF

CHURN = "*/stats/churn.py"
START = 1_700_000_000.0
EVERY = 15.0


class Watched:
    """Looks at one leaf in which, by default, 10 rows a second are updated and 2 deleted, after 1,000,000 of each."""

    def __init__(self) -> None:
        self.watch = ChurnWatch()

    def look(self, seconds: float, **changes: Any) -> Churn | None:
        return self.all(seconds, leaf(seconds, **changes)).get(1)

    def all(self, seconds: float, *leaves: LeafHealth, **health: Any) -> dict[int, Churn]:
        return self.watch.look(TableHealth(leaves, at=START + seconds, **health))

    def watched(self, until: float, since: float = 0.0) -> Churn | None:
        churn = None
        while since <= until:
            churn = self.look(since)
            since += EVERY
        return churn


def leaf(seconds: float, **changes: Any) -> LeafHealth:
    numbers = {
        "inserted": 1_000_000 + round(seconds),
        "updated": 1_000_000 + round(10 * seconds),
        "deleted": 1_000_000 + round(2 * seconds),
    }
    return replace(LEAF, **{**numbers, **changes})


def test_a_rate_is_known_once_a_minute_was_watched() -> None:
    watched = Watched()
    assert watched.watched(ENOUGH_SECONDS - EVERY) is None
    churn = watched.look(ENOUGH_SECONDS)
    assert churn == Churn(60, inserted=1, updated=10, deleted=2)
    assert churn.dying == 12


def test_what_lies_further_back_than_the_window_is_forgotten() -> None:
    watched = Watched()
    watched.watched(600)
    written = {name: getattr(leaf(600), name) for name in ("inserted", "updated", "deleted")}
    for seconds in range(615, 1_201, 15):
        churn = watched.look(seconds, **written)
        assert churn is not None
        assert churn.updated > 0 or seconds > 1_140
    assert churn == Churn(600, inserted=0, updated=0, deleted=0)


def test_the_window_is_not_shorter_than_its_length_less_a_step() -> None:
    churn = Watched().watched(3_600)
    assert churn is not None
    assert WINDOW_SECONDS - 60 <= churn.seconds <= WINDOW_SECONDS
    assert churn.updated == pytest.approx(10)


def test_counters_that_begin_anew_cost_the_stretch_in_which_they_did() -> None:
    watched = Watched()
    watched.watched(120)
    # All counters went to 0 at 128 s: in the 7 s since then 70 rows were updated.
    counted = {"inserted": 7, "updated": 70, "deleted": 14, "vacuums": 0}
    assert watched.look(135, **counted) == Churn(120, inserted=1, updated=10, deleted=2)
    later = {"inserted": 22, "updated": 220, "deleted": 44, "vacuums": 0}
    assert watched.look(150, **later) == Churn(135, inserted=1, updated=10, deleted=2)


def test_counters_that_begin_anew_again_and_again_are_never_known() -> None:
    watched = Watched()
    looks = [watched.look(seconds, updated=1_000 - seconds) for seconds in range(0, 600, 15)]
    assert set(looks) == {None}


def test_a_gap_shorter_than_the_window_is_counted_as_the_counters_went_on() -> None:
    watched = Watched()
    watched.watched(60)
    churn = watched.look(60 + WINDOW_SECONDS)
    assert churn is not None
    assert churn.seconds == pytest.approx(WINDOW_SECONDS)
    assert churn.updated == pytest.approx(10)


def test_after_a_longer_gap_all_begins_anew() -> None:
    watched = Watched()
    watched.watched(300)
    assert watched.look(301 + WINDOW_SECONDS) is None
    assert watched.look(301 + WINDOW_SECONDS + ENOUGH_SECONDS) is not None


def test_after_the_clock_was_set_back_all_begins_anew() -> None:
    watched = Watched()
    watched.watched(300)
    assert watched.look(290) is None
    assert watched.look(290 + ENOUGH_SECONDS - 1) is None
    churn = watched.look(290 + ENOUGH_SECONDS)
    assert churn == Churn(60, inserted=1, updated=10, deleted=2)


def test_a_partition_that_comes_with_rows_has_no_rate_of_them_and_one_that_went_is_forgotten() -> None:
    watched = Watched()
    for seconds in (0, 60, 120):
        assert set(watched.all(seconds, leaf(seconds))) <= {1}
    new = replace(LEAF, oid=2, inserted=5_000_000)
    assert set(watched.all(135, leaf(135), new)) == {1}
    found = watched.all(195, leaf(195), replace(new, inserted=5_000_060))
    assert found[2] == Churn(60, inserted=1, updated=0, deleted=0)
    assert set(watched.all(210, new)) == {2}
    assert watched.all(225, leaf(225)) == {}


def test_where_rows_are_not_counted_no_rate_is_told_not_even_none() -> None:
    watched = Watched()
    watched.watched(300)
    for server in (ServerAutovacuum(counting=False), ServerAutovacuum(standby=True)):
        for seconds in (315, 390):
            assert watched.all(seconds, leaf(300), server=server) == {}
    # What was counted before must not be spread over the time in which nothing was.
    assert watched.look(400) is None


# Of two looks at the same moment the second one tells nothing.
SECONDS = st.floats(-100, 2_000).filter(lambda seconds: abs(seconds) > 0.001)
LOOKS = st.lists(st.tuples(SECONDS, st.integers(-(10**6), 10**6), st.booleans()), min_size=2, max_size=60)


@given(LOOKS)
def test_whatever_the_counters_and_the_clock_do_no_rate_is_negative_or_beyond_what_was_counted(
    looks: list[tuple[float, int, bool]],
) -> None:
    watch, now, updated = ChurnWatch(), START, 10**7
    fastest = 0.0
    for after, change, reset in looks:
        now += after
        updated = 0 if reset else max(0, updated + change)
        if after > 0 and change > 0:
            fastest = max(fastest, change / after)
        found = watch.look(TableHealth((replace(LEAF, updated=updated),), at=now)).get(1)
        if found is not None:
            assert 0 <= found.updated <= fastest * 1.001
            assert ENOUGH_SECONDS <= found.seconds <= WINDOW_SECONDS
            assert (found.inserted, found.deleted) == (0, 0)


def test_a_leaf_is_watched_in_three_kilobytes_since_there_may_be_thousands() -> None:
    watch, leaves = ChurnWatch(), 50
    tracemalloc.start()
    try:
        for seconds in range(0, 1_500, 30):
            # Counters are objects of their own, as they come from the driver.
            written = [leaf(seconds, oid=oid, updated=10**9 + oid + seconds) for oid in range(leaves)]
            watch.look(TableHealth(tuple(written), at=START + seconds))
        held = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(inclusive=True, filename_pattern=CHURN)])
    finally:
        tracemalloc.stop()
    assert sum(one.size for one in held.statistics("filename")) < leaves * 3 * 1024
