"""Why autovacuum does not come to a table that it is due for, as far as one can see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops import sql

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection


def why_late(connection: Connection) -> str:
    """In words: that all of its workers are at work elsewhere, or what else it may be. Raises the driver's errors."""
    row = connection.execute(sql.statement("vacuum/workers"), {}).fetchone()
    most, busy = row or (0, 0)
    if 0 < most <= busy:
        workers = f"all {most} of its workers are" if most > 1 else "its only worker is"
        return f"{workers} at work elsewhere"
    return "no worker is seen at it: it was cancelled, or was elsewhere"
