"""The tables that a partitioned table consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.job_table.table import Relation

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class Branch:
    """One table of the tree; `parent` is None for the job table itself. Leaves hold the rows."""

    relation: Relation
    parent: Relation | None
    leaf: bool


def read(connection: Connection, table: JobTable) -> tuple[Branch, ...]:
    """The job table and all that is attached to it, parents first; only itself where it is not partitioned."""
    if not table.partitioned:
        return (Branch(table.relation, None, leaf=True),)
    rows = connection.execute(sql.statement("stats/partition_tree"), {"oid": table.relation.oid}).fetchall()
    relations = {oid: Relation(oid, schema, name) for oid, schema, name, _, _ in rows}
    return tuple(Branch(relations[oid], relations.get(parent), leaf) for oid, _, _, parent, leaf in rows)
