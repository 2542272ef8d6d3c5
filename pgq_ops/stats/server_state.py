"""The server as a whole: version, recovery, safety against a crash, connections."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from pgq_ops import sql

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class ServerState:
    """Read once. `version_number` is 180006 for 18.6.

    `connections` are taken, in all databases; `connections_allowed` are there for those who are no superusers.
    `now`: epoch seconds by the
    server's clock.
    """

    version_number: int
    version: str
    in_recovery: bool
    fsync: bool
    full_page_writes: bool
    connections: int
    connections_allowed: int
    now: float

    @property
    def today(self) -> date:
        """The day in UTC, by the server's clock."""
        return datetime.fromtimestamp(self.now, UTC).date()

    @property
    def major(self) -> int:
        """Such as 18."""
        return self.version_number // 10_000

    @property
    def minor(self) -> int:
        """The 6 of 18.6."""
        return self.version_number % 10_000


def read(connection: Connection, table: JobTable) -> ServerState:  # noqa: ARG001 (every reader is asked for a table)
    """Ask the server. Raises the driver's errors."""
    [row] = connection.execute(sql.statement("stats/server_state"), {}).fetchall()
    return ServerState(*row)
