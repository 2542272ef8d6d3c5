"""When dead rows are a finding: too many, and left alone for long enough, by what the looks can tell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.checks import dead_rows
from pgq_ops.checks.look import DatabaseLook, Look
from pgq_ops.job_table.table import JobTable, Relation
from pgq_ops.stats.horizon import Holder, Horizon
from pgq_ops.stats.table_health import LeafHealth, TableHealth
from pgq_ops.stats.vacuum_progress import VacuumProgress
from pgq_ops.stats.vacuum_settings import ServerAutovacuum
from pgq_ops.stats.vacuum_watch import VacuumOutcome
from tests.support.leaf_health import QUIET

if TYPE_CHECKING:
    from pgq_ops.checks.finding import Finding

TABLE: Any = JobTable.__new__(JobTable)
object.__setattr__(TABLE, "relation", Relation(1, "public", "jobs"))
NOW = 10_000.0
LEAF = replace(QUIET, dead_rows=10_001, vacuum_threshold=150)
RUNNING: dict[str, Any] = {"vacuum_running": True, "progress": VacuumProgress(7, "scanning heap", 0.4)}


def found(*leaves: LeafHealth, naptime: float = 60, horizon: Horizon | None = None) -> Finding | None:
    health = TableHealth(leaves, at=NOW, server=ServerAutovacuum(naptime_seconds=naptime))
    return next(iter(dead_rows.check(Look(TABLE, health=health, database=DatabaseLook(horizon=horizon)))), None)


def is_found(naptime: float = 60, **changes: Any) -> bool:
    return found(replace(LEAF, **changes), naptime=naptime) is not None


@pytest.mark.parametrize(
    ("dead", "threshold", "expected"),
    [
        (None, 150, False),
        (10_000, 150, False),
        (10_001, 150, True),
        (10_001, 0, True),
        (12_000, 6_000, False),
        (12_001, 6_000, True),
    ],
)
def test_ten_thousand_and_twice_the_threshold_are_borne(dead: int | None, threshold: float, expected: bool) -> None:  # noqa: FBT001
    assert is_found(over_seconds=1_000, dead_rows=dead, vacuum_threshold=threshold) is expected


@pytest.mark.parametrize(
    ("naptime", "seconds", "changes", "expected"),
    [
        (60, 179, {}, False),
        (60, 180, {}, True),
        (5, 59, {}, False),
        (5, 60, {}, True),
        (60, 1_799, RUNNING, False),
        (60, 1_800, RUNNING, True),
    ],
)
def test_who_watched_waits_for_three_visits_and_longer_while_a_vacuum_is_at_work(
    naptime: float,
    seconds: float,
    changes: dict[str, Any],
    expected: bool,  # noqa: FBT001
) -> None:
    assert is_found(naptime, over_seconds=seconds, **changes) is expected


@pytest.mark.parametrize(
    ("last_vacuum", "changes", "expected"),
    [
        (NOW - 179, {}, False),
        (NOW - 180, {}, True),
        (None, {}, True),
        (None, {"last_autovacuum": NOW - 10}, False),
        (NOW - 5_000, RUNNING, False),
    ],
)
def test_who_looks_but_once_goes_by_the_last_vacuum(
    last_vacuum: float | None,
    changes: dict[str, Any],
    expected: bool,  # noqa: FBT001
) -> None:
    assert is_found(last_vacuum=last_vacuum, **changes) is expected


def test_where_autovacuum_is_off_that_is_the_finding() -> None:
    assert not is_found(over_seconds=1_000, autovacuum_enabled=False)


def test_the_partition_that_is_the_most_beyond_its_own_threshold_is_named() -> None:
    over = replace(LEAF, over_seconds=500, last_autovacuum=NOW - 400)
    finding = found(
        replace(over, name="jobs_1"),
        replace(over, name="jobs_2", dead_rows=90_000, vacuum_threshold=20_000),
        replace(over, name="jobs_3", dead_rows=30_000),
        replace(over, name="jobs_4", dead_rows=3),
    )
    assert finding
    assert finding.summary == (
        "30,000 dead rows in public.jobs_3, 200.0 times what autovacuum waits for; the last vacuum was 6m40s ago;"
        " 2 other partitions likewise"
    )
    assert list(finding.evidence["dead_rows"]) == ["public.jobs_3", "public.jobs_1", "public.jobs_2"]
    assert finding.remedy.splitlines()[-1] == 'VACUUM (VERBOSE, TRUNCATE off) "public"."jobs_2";'


def test_of_many_partitions_the_remedy_is_the_job_table_s() -> None:
    finding = found(*(replace(LEAF, name=f"jobs_{number}", over_seconds=500) for number in range(11)))
    assert finding
    assert finding.remedy.splitlines()[-1] == 'VACUUM (VERBOSE, TRUNCATE off) "public"."jobs";'
    assert len(finding.evidence["dead_rows"]) == 10


def test_a_vacuum_at_work_and_none_ever_seen_are_told() -> None:
    working, never = found(replace(LEAF, over_seconds=2_000, **RUNNING)), found(LEAF)
    assert working
    assert "a vacuum is at work and has scanned 40% of the pages" in working.summary
    assert never
    assert "no vacuum was ever seen there" in never.summary


def test_who_keeps_the_rows_is_ended_first_only_where_a_vacuum_had_to_leave_some() -> None:
    holder = Holder(
        "backend", 4242, "report", "bi", "idle in transaction", 900.0, 80_000, "pgq-ops transactions end 4242@1"
    )
    horizon = Horizon(80_000, (holder,))
    over = replace(LEAF, over_seconds=500, last_autovacuum=NOW - 40)
    kept = found(replace(over, dead_rows=80_000, outcome=VacuumOutcome(0, 79_000)), horizon=horizon)
    assert kept
    assert "the last vacuum, 40s ago, could not remove at least 79,000 of them" in kept.summary
    assert kept.remedy.index("pgq-ops transactions end 4242@1") < kept.remedy.index("VACUUM (")
    removed = found(replace(over, outcome=VacuumOutcome(80_000, 0)), horizon=horizon)
    assert removed
    assert "4242" not in removed.remedy
