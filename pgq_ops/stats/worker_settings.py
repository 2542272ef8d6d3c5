"""With which settings the workers' sessions begin: by server, database, role, and role in the database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

NAMES = (
    "default_transaction_isolation",
    "idle_in_transaction_session_timeout",
    "transaction_timeout",
    "statement_timeout",
    "idle_session_timeout",
    "tcp_keepalives_idle",
    "tcp_keepalives_interval",
    "tcp_keepalives_count",
    "tcp_user_timeout",
    "client_connection_check_interval",
)


@dataclass(frozen=True, slots=True)
class WorkerSetting:
    """One setting of one role that may update the job table; `sessions` it has in this database now.

    `value` as it was written (`5min`), or as pg_settings has the server's (`300000`, in the setting's unit); None where
    the server's cannot be told. `origin`: `role in database`, `role`, `database`, `all roles` or `server`.
    """

    role: str
    sessions: int
    name: str
    value: str | None
    origin: str


def read(connection: Connection, table: JobTable) -> tuple[WorkerSetting, ...]:
    """Every setting of NAMES that the server has, for every such role. Raises the driver's errors."""
    parameters = {"oid": table.relation.oid, "names": list(NAMES)}
    rows = connection.execute(sql.statement("stats/worker_settings"), parameters).fetchall()
    return tuple(WorkerSetting(*row) for row in rows)
