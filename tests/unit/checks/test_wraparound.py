"""When a table's age is a finding: beyond a forced autovacuum that is late, and beyond what may be left to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.checks import wraparound
from pgq_ops.checks.look import DatabaseLook, Look
from pgq_ops.job_table.table import JobTable, Relation
from pgq_ops.stats.horizon import Holder, Horizon
from pgq_ops.stats.table_health import LeafHealth, TableHealth
from pgq_ops.stats.vacuum_settings import VacuumSettings
from tests.support.leaf_health import QUIET

if TYPE_CHECKING:
    from pgq_ops.checks.finding import Finding

TABLE: Any = JobTable.__new__(JobTable)
object.__setattr__(TABLE, "relation", Relation(1, "public", "jobs"))


def leaf(name: str = "jobs", xids: int = 0, mxids: int = 0, freeze_max_age: int = 200_000_000) -> LeafHealth:
    return replace(
        QUIET,
        name=name,
        live_rows=0,
        xid_age=xids,
        mxid_age=mxids,
        settings=VacuumSettings(freeze_max_age=freeze_max_age),
    )


def found(*leaves: LeafHealth, horizon: Horizon | None = None) -> Finding | None:
    look = Look(TABLE, health=TableHealth(leaves), database=DatabaseLook(horizon=horizon))
    return next(iter(wraparound.check(look)), None)


@pytest.mark.parametrize(
    ("xids", "mxids", "forced_at", "severity"),
    [
        (250_000_000, 0, 200_000_000, None),
        (250_000_001, 0, 200_000_000, "warning"),
        (1_200_000_000, 0, 200_000_000, "warning"),
        (1_200_000_001, 0, 200_000_000, "critical"),
        (125_001, 0, 100_000, "warning"),
        (1_600_000_000, 0, 2_000_000_000, None),
        (1_600_000_001, 0, 2_000_000_000, "critical"),
        (0, 500_000_000, 200_000_000, None),
        (0, 500_000_001, 200_000_000, "warning"),
        (0, 1_200_000_001, 200_000_000, "critical"),
    ],
)
def test_an_age_a_quarter_beyond_where_autovacuum_is_forced_is_a_finding(
    xids: int, mxids: int, forced_at: int, severity: str | None
) -> None:
    finding = found(leaf(xids=xids, mxids=mxids, freeze_max_age=forced_at))
    assert (finding.severity if finding else None) == severity


def test_the_oldest_by_its_own_limit_is_named_and_all_are_frozen() -> None:
    finding = found(
        leaf("young"),
        leaf("old", 300_000_000),
        leaf("late", 200_000, freeze_max_age=100_000),
        leaf("oldest", 400_000_000),
    )
    assert finding
    assert "public.oldest has not been frozen for 400,000,000 transactions" in finding.summary
    assert "2 other partitions likewise" in finding.summary
    assert list(finding.evidence["xid_ages"]) == ["public.oldest", "public.old", "public.late"]
    assert finding.remedy.splitlines()[0] == 'VACUUM (FREEZE, VERBOSE, TRUNCATE off) "public"."oldest";'
    assert "young" not in finding.remedy


def test_multixacts_are_told_from_transactions() -> None:
    finding = found(leaf(xids=1, mxids=600_000_000))
    assert finding
    assert "600,000,000 multixacts, though autovacuum is forced at 400,000,000" in finding.summary


def test_who_holds_the_horizon_as_far_back_comes_first() -> None:
    def holder(pid: int, age: int) -> Holder:
        return Holder(
            "backend", pid, "report", "bi", "idle in transaction", 90.0, age, f"pgq-ops transactions end {pid}@1"
        )

    horizon = Horizon(300_000_000, (holder(4242, 300_000_000), holder(7, 100)))
    finding = found(leaf(xids=300_000_000), horizon=horizon)
    assert finding
    assert finding.remedy.index("pgq-ops transactions end 4242@1") < finding.remedy.index("VACUUM (")
    assert "end 7@1" not in finding.remedy
