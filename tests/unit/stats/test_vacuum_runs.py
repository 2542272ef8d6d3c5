"""What vacuums did, as far as looks one after another tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pgq_ops.stats.table_health import LeafHealth, TableHealth
from pgq_ops.stats.vacuum_progress import VacuumProgress
from pgq_ops.stats.vacuum_runs import VacuumRuns, VacuumRunsWatch
from tests.unit.stats.test_vacuum_watch import LEAF

# After 1,000 rows of each kind and one vacuum, which ended at 100.
AT_WORK = {"vacuum_running": True, "progress": VacuumProgress(7, "scanning heap", 0.5, 0, relation=1)}


class Watched:
    """One leaf, looked at again and again."""

    def __init__(self) -> None:
        self.watch = VacuumRunsWatch()
        self.look(0)

    def look(self, at: float, **changes: Any) -> VacuumRuns | None:
        return self.all(at, replace(LEAF, **changes)).get(1)

    def all(self, at: float, *leaves: LeafHealth) -> dict[int, VacuumRuns]:
        return self.watch.look(TableHealth(leaves, at=at))


def test_before_a_vacuum_was_seen_to_end_there_is_nothing() -> None:
    watched = Watched()
    assert watched.look(15, dead_rows=900) is None
    assert watched.look(30, dead_rows=900, **AT_WORK) is None


def test_what_it_removed_is_what_was_dead_and_died_without_what_is_left() -> None:
    watched = Watched()
    watched.look(15, dead_rows=900, updated=1_900)
    # 400 were updated and 100 deleted since, 150 of them HOT, whose rows go without a vacuum.
    runs = watched.look(
        30, dead_rows=50, updated=2_300, deleted=1_100, hot_updated=150, vacuums=2, last_autovacuum=28.0
    )
    assert runs is not None
    assert (runs.count, runs.removed_rows) == (1, 900 + 400 + 100 - 150 - 50)


def test_where_dead_rows_are_not_known_nothing_is_told_of_them() -> None:
    watched = Watched()
    watched.look(15, dead_rows=None)
    runs = watched.look(30, dead_rows=50, vacuums=2, last_autovacuum=128.0)
    assert runs == VacuumRuns(1, None, None, 28.0, None)


def test_the_numbers_are_the_medians_of_the_last_ones() -> None:
    watched, ended = Watched(), 100.0
    for number, interval in enumerate([60, 61, 59, 600, 60], start=2):
        ended += interval
        watched.look(ended - 1, dead_rows=interval * 10, vacuums=number - 1, last_autovacuum=ended - interval)
        runs = watched.look(ended + 1, vacuums=number, last_autovacuum=ended)
    assert runs is not None
    assert (runs.count, runs.removed_rows, runs.interval_seconds) == (5, 600, 60)


def test_several_between_two_looks_count_each() -> None:
    watched = Watched()
    watched.look(15, dead_rows=900, vacuum_seconds=10.0)
    runs = watched.look(30, vacuums=4, last_autovacuum=130.0, vacuum_seconds=16.0)
    assert runs == VacuumRuns(3, 300, 2.0, 10.0, None)


def test_the_time_they_took_is_the_server_s_from_18_on() -> None:
    watched = Watched()
    watched.look(15, dead_rows=10, vacuum_seconds=100.25)
    runs = watched.look(30, vacuums=2, last_autovacuum=128.0, vacuum_seconds=103.5)
    assert runs is not None
    assert runs.seconds == 3.25


def test_before_that_it_is_the_time_since_a_look_saw_it_at_work() -> None:
    watched = Watched()
    watched.look(115, **AT_WORK)
    watched.look(130, **AT_WORK)
    runs = watched.look(145, vacuums=2, last_autovacuum=140.0)
    assert runs is not None
    assert runs.seconds == 25


def test_of_those_that_no_look_saw_at_work_nobody_knows_how_long_they_took() -> None:
    watched = Watched()
    runs = watched.look(115, vacuums=2, last_autovacuum=110.0)
    assert runs is not None
    assert runs.seconds is None


def test_one_that_was_cancelled_does_not_lengthen_the_next() -> None:
    watched = Watched()
    watched.look(115, **AT_WORK)
    watched.look(130)
    watched.look(145, **AT_WORK)
    runs = watched.look(160, vacuums=2, last_autovacuum=150.0)
    assert runs is not None
    assert runs.seconds == 5


def test_one_that_begins_as_the_last_one_ends_is_timed_from_there() -> None:
    watched = Watched()
    watched.look(115, **AT_WORK)
    watched.look(130, **AT_WORK, vacuums=2, last_autovacuum=125.0)
    runs = watched.look(145, vacuums=3, last_autovacuum=142.0)
    assert runs is not None
    assert runs.seconds == pytest.approx((10 + 12) / 2)


def test_counters_that_begin_anew_are_no_vacuums() -> None:
    watched = Watched()
    watched.look(15, vacuums=9, last_autovacuum=180.0)
    runs = watched.look(30, inserted=0, updated=0, deleted=0, vacuums=0, last_autovacuum=None)
    assert runs is not None
    assert runs.count == 8
    runs = watched.look(45, inserted=10, updated=0, deleted=0, vacuums=1, last_autovacuum=40.0)
    assert runs is not None
    assert (runs.count, runs.interval_seconds) == (9, 10)


def test_a_clock_that_was_set_back_makes_no_interval() -> None:
    watched = Watched()
    runs = watched.look(15, vacuums=2, last_autovacuum=90.0)
    assert runs == VacuumRuns(1, 0, None, None, None)


def test_leaves_that_go_are_forgotten() -> None:
    watched = Watched()
    assert watched.look(15, vacuums=2) is not None
    assert set(watched.all(30, replace(LEAF, vacuums=2), replace(LEAF, oid=2))) == {1}
    assert watched.all(45, replace(LEAF, oid=2)) == {}
    assert watched.all(60, replace(LEAF, vacuums=3)) == {}
