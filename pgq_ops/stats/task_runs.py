"""When each task last ran, and how that went: what the agents wrote into the `pgq_ops` schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops import sql
from pgq_ops.errors import NotPermitted
from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class TaskRun:
    """The last run of a task. Ages are seconds by the database's clock; `at` is ISO 8601 in UTC."""

    task: str
    seconds_ago: float
    success_seconds_ago: float | None
    at: str
    outcome: str
    duration_seconds: float
    message: str
    host: str
    pid: int


def read(connection: Connection, table: JobTable) -> tuple[TaskRun, ...] | None:
    """The last run of each task; None where the schema is not installed. Raises NotPermitted with the GRANT."""
    try:
        parameters = {"table_oid": table.relation.oid}
        rows = connection.execute(sql.statement("stats/task_runs"), parameters).fetchall()
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        return None
    except errors.InsufficientPrivilege as error:
        raise _not_permitted(connection) from error
    return tuple(TaskRun(*row) for row in rows)


def _not_permitted(connection: Connection) -> NotPermitted:
    """A schema that was installed after the role got its grants is the usual reason."""
    role = str(connection.execute("SELECT current_user", {}).fetchall()[0][0])
    to = f"TO {pasted(identifier(role))};"
    return NotPermitted(
        f"role {role} may not read what is recorded of them; run `pgq-ops grants` with its tiers again, or at least",
        f"GRANT USAGE ON SCHEMA pgq_ops {to}\n  GRANT SELECT ON TABLE pgq_ops.task {to}",
    )
