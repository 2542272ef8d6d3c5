"""A heartbeat that is no HOT update writes to every index of the table, and leaves a dead entry in each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.pasted_sql import plain
from pgq_ops.checks.production.verdict import found, not_applicable, passed
from pgq_ops.job_table.quoting import identifier
from pgq_ops.stats import heartbeat_indexes, partition_tree

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.table_health import TableHealth

ID = "heartbeats-not-hot"
TITLE = "heartbeats can be HOT updates"

# A job costs two or three updates without heartbeats, and none of those is ever HOT; beyond that most are heartbeats.
_UPDATES_A_JOB = 5
_LEAST_SHARE = 0.2
_FEWEST_UPDATES = 10_000


def check(examination: Examination) -> Verdict:
    """A warning for an index on the column; info where heartbeats abound and their pages have no room."""
    table, health = examination.table, examination.look.health
    columns = heartbeat_indexes.heartbeat_columns(table)
    if not columns:
        return not_applicable("no column that a heartbeat would write is mapped")
    indexes = examination.fact(heartbeat_indexes.read)
    if indexes:
        names = f"{', '.join(one.name for one in indexes[:3])} {'has' if len(indexes) == 1 else 'have'}"
        return found(
            Finding(
                ID,
                Severity.WARNING,
                f"each heartbeat on {table} writes to all of its indexes, as {names} {indexes[0].column} in it",
                {"indexes": [f"{one.schema}.{one.name}" for one in indexes], "columns": list(columns)},
                "-- where nothing but the reaper reads it; first make the index on the key of the running jobs:\n"
                + "\n".join(f"DROP INDEX CONCURRENTLY {plain(identifier(one.schema, one.name))};" for one in indexes),
            )
        )
    if health is not None and not health.statistics_lost:
        return _by_counters(examination, health)
    return passed(f"no index has {' or '.join(columns)} in it")


def _by_counters(examination: Examination, health: TableHealth) -> Verdict:
    updated, hot = (sum(getattr(leaf, name) for leaf in health.leaves) for name in ("updated", "hot_updated"))
    inserted = sum(leaf.inserted for leaf in health.leaves)
    share = hot / updated if updated else 0.0
    said = f"{share:.0%} of {updated:,} updates were HOT" if updated else "none was seen"
    if updated < max(_FEWEST_UPDATES, _UPDATES_A_JOB * inserted) or share >= _LEAST_SHARE:
        return passed(f"no index is in their way; {said}")
    leaves = [branch for branch in examination.fact(partition_tree.read) if branch.leaf]
    return found(
        Finding(
            ID,
            Severity.INFO,
            f"heartbeats on {examination.table} find no room in their pages: {said}",
            {"updated": updated, "hot_updated": hot, "inserted": inserted},
            "-- for pages that are written from now on:\n"
            + "\n".join(f"ALTER TABLE {plain(branch.relation.sql)} SET (fillfactor = 70);" for branch in leaves),
        )
    )
