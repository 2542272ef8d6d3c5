"""How old the statistics are by which the workers' statements are planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.job_table.table import Relation

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class PlannerStatistics:
    """Of one table; a `leaf` holds rows. `changed`: rows written since the last ANALYZE. `live`: rows as counted.

    `planned_rows`: what the planner believes, -1 where nothing was ever counted. `analyzed_seconds_ago`: None for
    never, or not since the counters began.
    """

    relation: Relation
    leaf: bool
    changed: int
    live: int
    planned_rows: float
    analyzed_seconds_ago: float | None


def read(connection: Connection, table: JobTable) -> tuple[PlannerStatistics, ...]:
    """Those of the job table and its partitions, parents first. Raises the driver's errors."""
    rows = connection.execute(sql.statement("stats/planner_statistics"), {"oid": table.relation.oid}).fetchall()
    return tuple(PlannerStatistics(Relation(oid, schema, name), *rest) for oid, schema, name, *rest in rows)
