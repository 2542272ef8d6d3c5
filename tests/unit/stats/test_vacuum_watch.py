"""What looks one after another tell: what a vacuum removed and left, since when rows are left, lost counters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pgq_ops.stats.table_health import LeafHealth, TableHealth
from pgq_ops.stats.vacuum_watch import VacuumOutcome, VacuumWatch
from tests.support.leaf_health import QUIET

# Autovacuum comes at 20,000 dead rows; more than 40,000 are too many.
LEAF = replace(
    QUIET,
    live_rows=1_000,
    vacuum_threshold=20_000,
    last_autovacuum=100.0,
    inserted=1_000,
    updated=1_000,
    deleted=1_000,
    vacuums=1,
)


class Watched:
    """One leaf, looked at again and again."""

    def __init__(self) -> None:
        self.watch = VacuumWatch()

    def __call__(self, now: float, **changes: Any) -> LeafHealth:
        [leaf] = self.watch.watched(TableHealth((replace(LEAF, **changes),)), now).leaves
        return leaf


def test_a_vacuum_that_removed_everything_left_nothing() -> None:
    look = Watched()
    assert look(0, dead_rows=50_000).outcome is None
    leaf = look(15, dead_rows=300, updated=1_300, vacuums=2)
    assert leaf.outcome == VacuumOutcome(removed_rows=49_700, left_rows=0)


def test_a_vacuum_that_left_more_than_can_have_died_since_was_not_able_to_remove_them() -> None:
    look = Watched()
    look(0, dead_rows=50_000)
    leaf = look(15, dead_rows=50_500, inserted=1_100, updated=1_300, deleted=1_100, vacuums=2)
    assert leaf.outcome == VacuumOutcome(removed_rows=0, left_rows=50_000)


def test_the_outcome_stands_until_the_next_vacuum() -> None:
    look = Watched()
    look(0, dead_rows=50_000)
    look(15, dead_rows=50_000, vacuums=2)
    assert look(30, dead_rows=51_000, updated=2_000, vacuums=2).outcome == VacuumOutcome(0, 50_000)
    assert look(45, dead_rows=10, updated=2_010, vacuums=3).outcome == VacuumOutcome(50_990, 0)


def test_an_outcome_is_not_known_where_the_rows_before_it_are_not() -> None:
    look = Watched()
    look(0, dead_rows=None, live_rows=None, lost=True)
    assert look(15, dead_rows=50_000, vacuums=2).outcome is None


def test_time_counts_from_the_first_look_that_finds_too_many_dead_rows() -> None:
    look = Watched()
    assert look(0, dead_rows=40_000).over_seconds == 0
    assert look(15, dead_rows=40_001).over_seconds == 0
    assert look(75, dead_rows=40_001).over_seconds == 60
    assert look(90, dead_rows=40_000).over_seconds == 0
    assert look(105, dead_rows=90_000).over_seconds == 0


def test_a_vacuum_that_did_its_work_begins_the_time_anew_and_one_that_could_not_does_not() -> None:
    look = Watched()
    look(0, dead_rows=90_000)
    # A busy queue: all of these have died since.
    assert look(60, dead_rows=90_000, updated=91_000, vacuums=2).over_seconds == 0
    assert look(100, dead_rows=95_000, updated=96_000, vacuums=2).over_seconds == 40
    assert look(120, dead_rows=95_000, updated=96_000, vacuums=3).over_seconds == 60


def test_counters_that_went_back_make_the_rows_unknown_until_a_vacuum_or_an_analyze() -> None:
    look = Watched()
    look(0, dead_rows=90_000)
    anew = {"inserted": 0, "updated": 50, "deleted": 0, "vacuums": 0, "last_autovacuum": None}
    leaf = look(15, dead_rows=50, **anew)
    assert (leaf.lost, leaf.live_rows, leaf.dead_rows, leaf.over_seconds) == (True, None, None, 0)
    assert look(30, dead_rows=80, **anew | {"updated": 80}).lost
    leaf = look(45, dead_rows=90_010, **anew | {"updated": 90, "last_analyze": 200.0})
    assert (leaf.lost, leaf.dead_rows, leaf.over_seconds, leaf.outcome) == (False, 90_010, 0, None)


def test_a_leaf_s_loss_is_the_table_s() -> None:
    watch = VacuumWatch()
    other = replace(LEAF, oid=2, name="other")
    assert not watch.watched(TableHealth((LEAF, other)), 0).statistics_lost
    fallen = replace(other, inserted=5, vacuums=0, last_autovacuum=None)
    health = watch.watched(TableHealth((LEAF, fallen)), 15)
    assert health.statistics_lost
    assert [leaf.lost for leaf in health.leaves] == [False, True]
    assert (health.live_rows, health.dead_rows, health.due_ratio) == (None, None, None)


def test_a_leaf_that_is_gone_and_comes_back_is_a_new_one() -> None:
    watch = VacuumWatch()
    watch.watched(TableHealth((replace(LEAF, dead_rows=90_000),)), 0)
    watch.watched(TableHealth(()), 15)
    [leaf] = watch.watched(TableHealth((replace(LEAF, dead_rows=90_000),)), 30).leaves
    assert leaf.over_seconds == 0
