"""Foreign keys of other tables that would delete or change rows there with a dead letter that is deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.binding import cascades
from pgq_ops.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.cascade import Cascade
    from pgq_ops.job_table.table import Relation

_MOVES_ARE_UPDATES = 150000


def read(connection: Connection, *relations: Relation) -> tuple[Cascade, ...]:
    """Those of the tables, each once. Raises the driver's errors."""
    return tuple(dict.fromkeys(one for relation in relations for one in cascades.read(connection, relation)))


def follow_moves(connection: Connection) -> bool:
    """Whether a row that an UPDATE moves to another partition counts as deleted: before PostgreSQL 15 it does."""
    return connection.info.server_version < _MOVES_ARE_UPDATES


def require_possible(found: Sequence[Cascade]) -> None:
    """Raise UsageError where other rows of the same table would go with one: jobs that nobody meant, agreed or not."""
    if its_like := [str(one) for one in found if one.deletes_its_like]:
        listed = "\n  ".join(its_like)
        raise UsageError(
            "foreign keys would delete other jobs too, in whatever state, which --cascade does not allow:\n  "
            f"{listed}\n  first give them another action, such as ON DELETE SET NULL, or let go of those jobs yourself"
        )


def require_allowed(found: Sequence[Cascade], *, allowed: bool) -> None:
    """Raise UsageError where other tables would change and nobody agreed to that, or as `require_possible`."""
    require_possible(found)
    if found and not allowed:
        listed = "\n  ".join(map(str, found))
        raise UsageError(f"foreign keys would change other tables too; add --cascade if they may:\n  {listed}")
