"""Sums over tables that come, go and begin anew never fall and never leap."""

from __future__ import annotations

from pgq_ops.probes.counters import Accumulated


def test_the_sums_begin_at_zero_and_grow_by_what_each_table_grows_by() -> None:
    rows = Accumulated([0, 0])
    assert rows.add({1: (5_000, 100), 2: (70, 7)}) == (0, 0)
    assert rows.add({1: (5_010, 100), 2: (71, 9)}) == (11, 2)


def test_a_table_that_goes_takes_nothing_away_and_one_that_comes_brings_no_past() -> None:
    rows = Accumulated([0])
    rows.add({1: (5_000,), 2: (0,)})
    rows.add({1: (5_010,), 2: (3,)})
    assert rows.add({2: (4,)}) == (14,)
    assert rows.add({2: (4,), 3: (9_000_000,)}) == (14,)
    assert rows.add({2: (4,), 3: (9_000_001,)}) == (15,)


def test_a_table_that_comes_back_counts_from_then_on() -> None:
    rows = Accumulated([0])
    rows.add({1: (10,)})
    rows.add({})
    assert rows.add({1: (50,)}) == (0,)
    assert rows.add({1: (51,)}) == (1,)


def test_counters_that_begin_anew_count_from_zero_all_of_them() -> None:
    rows = Accumulated([0, 0])
    rows.add({1: (5_000, 100)})
    assert rows.add({1: (30, 120)}) == (30, 120)
