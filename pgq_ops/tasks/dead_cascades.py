"""Foreign keys of other tables that would delete or change rows there with a dead letter that is deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.binding import cascades
from pgq_ops.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import Relation


def read(connection: Connection, relation: Relation) -> tuple[str, ...]:
    """One sentence a foreign key. Raises the driver's errors."""
    return tuple(map(str, cascades.read(connection, relation)))


def require_allowed(found: Sequence[str], *, allowed: bool) -> None:
    """Raise UsageError where other tables would change and nobody agreed to that."""
    if found and not allowed:
        listed = "\n  ".join(found)
        raise UsageError(f"foreign keys would change other tables too; add --cascade if they may:\n  {listed}")
