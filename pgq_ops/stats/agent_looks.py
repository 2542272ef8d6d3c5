"""When agents last looked at a job table, also those that only observe: what they wrote into the `pgq_ops` schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops import sql

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

# A look is written down once a minute: after three missed ones nobody looks any more.
LOOKING_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class AgentLook:
    """The last look of an agent in a mode, in seconds before now by the database's clock."""

    mode: str
    seconds_ago: float
    host: str
    pid: int

    @property
    def is_recent(self) -> bool:
        """Whether the agent still looks, as far as is written down."""
        return self.seconds_ago <= LOOKING_SECONDS


def read(connection: Connection, table: JobTable) -> tuple[AgentLook, ...] | None:
    """The last look of each mode, the latest first; None where none is written down, or this role may not read it.

    Raises the driver's errors.
    """
    try:
        parameters = {"table_oid": table.relation.oid}
        rows = connection.execute(sql.statement("stats/agent_looks"), parameters).fetchall()
    except (errors.UndefinedTable, errors.InvalidSchemaName, errors.InsufficientPrivilege):
        return None
    return tuple(AgentLook(*row) for row in rows)
