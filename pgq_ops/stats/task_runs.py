"""When each task last ran, and how that went: what the agents wrote into the `pgq_ops` schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops import sql

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
    """The last run of each task; None where the schema is not installed or this role may not read it."""
    try:
        parameters = {"table_oid": table.relation.oid}
        rows = connection.execute(sql.statement("stats/task_runs"), parameters).fetchall()
    except (errors.UndefinedTable, errors.InvalidSchemaName, errors.InsufficientPrivilege):
        return None
    return tuple(TaskRun(*row) for row in rows)
