"""Finds the foreign keys of other tables that would delete or change rows there with a row that is deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.job_table.cascade import Cascade

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import Relation


def read(connection: Connection, relation: Relation) -> tuple[Cascade, ...]:
    """Those of a table and its partitions, and of the tables whose rows are deleted with theirs.

    Reads the catalog alone. Raises the driver's errors.
    """
    rows = connection.execute(sql.statement("catalog/cascades"), {"oid": relation.oid}).fetchall()
    return tuple(Cascade(*row) for row in rows)
