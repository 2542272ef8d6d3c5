"""A heartbeat that is no HOT update writes to every index of the table, and leaves a dead entry in each."""

from __future__ import annotations

from dataclasses import dataclass
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
TITLE = "Heartbeats can be HOT updates"

# A job costs two or three updates without heartbeats, and none of those is ever HOT; beyond that most are heartbeats.
_UPDATES_A_JOB = 5
_LEAST_SHARE = 0.2
_FEWEST_UPDATES = 10_000


@dataclass(frozen=True, slots=True)
class Updates:
    """What was counted of all leaves."""

    updated: int
    hot: int
    inserted: int

    @classmethod
    def of(cls, health: TableHealth) -> Updates:
        """The sums over the leaves."""
        leaves = health.leaves
        return cls(*(sum(getattr(leaf, name) for leaf in leaves) for name in ("updated", "hot_updated", "inserted")))

    @property
    def abound(self) -> bool:
        """Whether most updates must be heartbeats."""
        return self.updated >= max(_FEWEST_UPDATES, _UPDATES_A_JOB * self.inserted)

    @property
    def hot_share(self) -> float:
        """The share of updates that were HOT; 0 without any."""
        return self.hot / self.updated if self.updated else 0.0

    def __str__(self) -> str:
        return f"{self.hot_share:.0%} of {self.updated:,} updates were HOT" if self.updated else "none was seen"


def check(examination: Examination) -> Verdict:
    """A warning for an index on the column where heartbeats abound; info where they do not, or find no room."""
    table, health = examination.table, examination.look.health
    columns = heartbeat_indexes.heartbeat_columns(table)
    if not columns:
        return not_applicable("no column that a heartbeat would write is mapped")
    updates = None if health is None or health.statistics_lost else Updates.of(health)
    indexes = examination.fact(heartbeat_indexes.read)
    if not indexes:
        return (
            _without_room(examination, updates) if updates is not None else passed(f"no index has {columns[0]} in it")
        )
    names = f"{', '.join(one.name for one in indexes[:3])} {'has' if len(indexes) == 1 else 'have'}"
    return found(
        Finding(
            ID,
            Severity.WARNING if updates is not None and updates.abound else Severity.INFO,
            f"each heartbeat on {table} writes to all of its indexes, as {names} {indexes[0].column} in it",
            {"indexes": [f"{one.schema}.{one.name}" for one in indexes], "columns": list(columns)},
            "-- where nothing but the reaper reads it; first make the index on the key of the running jobs:\n"
            + "\n".join(map(_dropped, indexes)),
        )
    )


def _dropped(index: heartbeat_indexes.HeartbeatIndex) -> str:
    """PostgreSQL drops a partitioned index only under locks, and none of its parts alone."""
    name = plain(identifier(index.schema, index.name))
    if not index.partitioned:
        return f"DROP INDEX CONCURRENTLY {name};"
    why = "-- it locks the table and all partitions: so it waits for 100 ms at most; again if that was too short"
    return f"{why}\nSET lock_timeout = '100ms';\nDROP INDEX {name};"


def _without_room(examination: Examination, updates: Updates) -> Verdict:
    if not updates.abound or updates.hot_share >= _LEAST_SHARE:
        return passed(f"no index is in their way; {updates}")
    leaves = [branch for branch in examination.fact(partition_tree.read) if branch.leaf]
    return found(
        Finding(
            ID,
            Severity.INFO,
            f"heartbeats on {examination.table} find no room in their pages: {updates}",
            {"updated": updates.updated, "hot_updated": updates.hot, "inserted": updates.inserted},
            "-- for pages that are written from now on:\n"
            + "\n".join(f"ALTER TABLE {plain(branch.relation.sql)} SET (fillfactor = 70);" for branch in leaves),
        )
    )
