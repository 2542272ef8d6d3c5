"""Foreign keys of other tables that would delete or change rows there with a dead letter that is deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import Relation

_ACTIONS = {"c": "deletes rows of", "n": "sets columns to NULL in", "d": "sets columns to their default in"}


def read(connection: Connection, relation: Relation) -> tuple[str, ...]:
    """One sentence a foreign key. Raises the driver's errors."""
    rows = connection.execute(sql.statement("dead/referencing"), {"oid": relation.oid}).fetchall()
    return tuple(f"{name} {_ACTIONS[action]} {table}" for name, table, action in rows)


def require_allowed(cascades: Sequence[str], *, allowed: bool) -> None:
    """Raise UsageError where other tables would change and nobody agreed to that."""
    if cascades and not allowed:
        listed = "\n  ".join(cascades)
        raise UsageError(f"foreign keys would change other tables too; add --cascade if they may:\n  {listed}")
