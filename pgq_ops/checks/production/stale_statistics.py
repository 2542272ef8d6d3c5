"""Statements are planned by what the table is like now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import listed, quoted
from pgq_ops.checks.production.verdict import found, passed, unknown
from pgq_ops.stats import planner_statistics
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.planner_statistics import PlannerStatistics

ID = "stale-statistics"
TITLE = "The planner's statistics are fresh"

# By default autovacuum analyzes once a tenth has changed: at half it has not come for long.
_SHARE = 0.5
_FEW_CHANGES = 10_000


def check(examination: Examination) -> Verdict:
    """A warning where much has changed; info for a partitioned table itself, which autovacuum never analyzes."""
    health = examination.look.health
    if health is not None and health.statistics_lost:
        return unknown("the counters were lost in a crash, so what has changed since the last ANALYZE is not known")
    if health is not None and health.live_rows is None:
        return unknown("the server does not tell what has changed since the last ANALYZE")
    tables = examination.fact(planner_statistics.read)
    leaves = [one for one in tables if one.leaf]
    stale = [one for one in leaves if one.changed > max(_FEW_CHANGES, _SHARE * max(one.planned_rows, one.live))]
    if stale:
        worst = max(stale, key=lambda one: one.changed)
        return found(
            Finding(
                ID,
                Severity.WARNING,
                f"{worst.changed:,} changes in {worst.relation} since {_last(worst)}: the planner {_believes(worst)}"
                f" where {worst.live:,} rows are, and may choose another index",
                {"changed": {str(one.relation): one.changed for one in stale}},
                "\n".join(_analyze(one) for one in stale),
            )
        )
    rows = sum(max(one.planned_rows, one.live) for one in leaves)
    never = [one for one in tables if not one.leaf and one.planned_rows < 0 and one.analyzed_seconds_ago is None]
    if never and rows > _FEW_CHANGES:
        return found(
            Finding(
                ID,
                Severity.INFO,
                f"{listed(str(one.relation) for one in never)} was never analyzed: autovacuum does that for partitions"
                f" only, so the planner guesses what all {rows:,.0f} jobs are like",
                {"tables": [str(one.relation) for one in never]},
                "-- now and then, for instance each night\n" + "\n".join(_analyze(one) for one in never),
            )
        )
    most = max(leaves, key=lambda one: one.changed, default=None)
    if most is None:
        return unknown("the table has no partition")
    return passed(f"{most.changed:,} changes since {_last(most)} at most, of {rows:,.0f} rows")


def _last(one: PlannerStatistics) -> str:
    if one.analyzed_seconds_ago is None:
        return "the table was made, or its counters began"
    return f"ANALYZE {format_duration(one.analyzed_seconds_ago)} ago"


def _believes(one: PlannerStatistics) -> str:
    return "has no statistics" if one.planned_rows < 0 else f"goes by {one.planned_rows:,.0f}"


def _analyze(one: PlannerStatistics) -> str:
    return f"ANALYZE {quoted(one.relation.schema, one.relation.name)};"
