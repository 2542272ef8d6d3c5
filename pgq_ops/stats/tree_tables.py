"""The job table and its partitions, as the catalog describes each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.job_table.table import Relation

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class TreeTable:
    """One table; a `leaf` holds rows. `persistence`: p, u (unlogged) or t.

    `past`: its time range has ended; None where it has none, or one that cannot be read. `replica_identity`: d, n, f
    or i; `has_identity_index`: the index that it means is there.
    """

    relation: Relation
    leaf: bool
    persistence: str
    past: bool | None
    replica_identity: str
    has_identity_index: bool


def read(connection: Connection, table: JobTable) -> tuple[TreeTable, ...]:
    """The job table first, then what is attached to it. Raises the driver's errors."""
    rows = connection.execute(sql.statement("stats/tree_tables"), {"oid": table.relation.oid}).fetchall()
    return tuple(TreeTable(Relation(oid, schema, name), *rest) for oid, schema, name, *rest in rows)
