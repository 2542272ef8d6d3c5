"""The standbys of the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class Standby:
    """One that streams. `feeds_back`: its queries hold back VACUUM here (hot_standby_feedback).

    `visible`: whether this role may know.
    """

    name: str
    feeds_back: bool
    visible: bool


def read(connection: Connection, table: JobTable) -> tuple[Standby, ...]:  # noqa: ARG001 (every reader is asked for a table)
    """Those connected now. Raises the driver's errors."""
    return tuple(Standby(*row) for row in connection.execute(sql.statement("stats/standbys"), {}).fetchall())
