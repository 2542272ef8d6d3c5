"""Whom a vacuum left dead rows for: the oldest holder before it began, by looks one after another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pgq_ops.stats.horizon import Holder, Horizon
from pgq_ops.stats.table_health import TableHealth
from pgq_ops.stats.vacuum_keepers import VacuumKeepers
from pgq_ops.stats.vacuum_watch import VacuumOutcome
from tests.unit.stats.test_vacuum_watch import LEAF

REPORT = Holder("backend", 1, "report", "bi", "active", 600.0, 90_000, "end 1", started="1.0")
OTHER = replace(REPORT, pid=2, xid_age=5, started="2.0")


class Looks:
    """One leaf, with an outcome from the second vacuum on."""

    def __init__(self) -> None:
        self.keepers, self.at = VacuumKeepers(), 0.0

    def __call__(self, *holders: Holder, anew: bool = True, **changes: Any) -> Holder | None:
        self.at += 15.0 if anew else 0.0
        leaf = replace(LEAF, **changes)
        leaf = replace(leaf, outcome=VacuumOutcome(0, 50_000) if leaf.vacuums > 1 else None)
        told = self.keepers.told(TableHealth((leaf,), at=self.at), Horizon(0, holders))
        assert told is not None
        return told.leaves[0].outcome.under if told.leaves[0].outcome else None


def test_it_is_whoever_was_the_oldest_at_the_look_before() -> None:
    look = Looks()
    look(REPORT, OTHER)
    assert look(OTHER, vacuums=2) == REPORT
    assert look(OTHER, vacuums=2) == REPORT, "until the next vacuum"
    assert look(OTHER, vacuums=3) == OTHER
    assert look(vacuums=3) == OTHER
    assert look(OTHER, vacuums=4) is None


def test_of_a_vacuum_that_was_seen_at_work_the_look_before_that_counts() -> None:
    look = Looks()
    look(REPORT, OTHER)
    look(REPORT, OTHER, vacuum_running=True)
    look(OTHER, vacuum_running=True)
    assert look(OTHER, vacuums=2) == REPORT
    look(OTHER, vacuums=2)
    assert look(OTHER, vacuums=3, vacuum_running=True) == OTHER
    look(REPORT, vacuums=3, vacuum_running=True)
    assert look(REPORT, vacuums=4) == OTHER, "the next one was at work already"


def test_looks_at_the_horizon_alone_change_nothing() -> None:
    look = Looks()
    look(REPORT, OTHER)
    look(OTHER, anew=False)
    assert look(OTHER, vacuums=2) == REPORT


def test_without_a_look_at_the_table_there_is_nothing_to_tell() -> None:
    assert VacuumKeepers().told(None, Horizon(0)) is None
