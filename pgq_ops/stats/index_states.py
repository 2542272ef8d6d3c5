"""The indexes of the job table: which of them can be used, which are, and which serve the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.job_table.table import Relation

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class IndexState:
    """One index with all its parts on partitions. `table`: the one that it is on, as (schema, name).

    `attachable`: it waits for parts. `building`: somebody makes it now (also where it cannot be told what is made).
    `needed`: unique, or behind a constraint. Indexes of the same `kind` serve the same. `scans` since the counters
    began. `pages` of 8 kB, as of the last vacuum or analyze.
    """

    relation: Relation
    table: tuple[str, str]
    valid: bool
    attachable: bool
    building: bool
    needed: bool
    unique: bool
    constraint: bool
    kind: str
    scans: int
    pages: int


@dataclass(frozen=True, slots=True)
class IndexStates:
    """All of them, and for how many seconds the counters have counted (None: not known)."""

    indexes: tuple[IndexState, ...]
    counting_seconds: float | None


def read(connection: Connection, table: JobTable) -> IndexStates:
    """Those of the job table and its partitions; reads the catalog alone. Raises the driver's errors."""
    rows = connection.execute(sql.statement("stats/index_states"), {"oid": table.relation.oid}).fetchall()
    since = connection.execute(sql.statement("stats/counting_since"), {}).fetchall()
    return IndexStates(
        tuple(
            IndexState(Relation(oid, schema, name), (table_schema, table_name), *rest)
            for oid, schema, name, table_schema, table_name, *rest in rows
        ),
        since[0][0] if since else None,
    )
