"""What the schema remembers of the tasks' runs, and how long."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.errors import NotPermitted
from pgq_ops.schema import versions

if TYPE_CHECKING:
    from datetime import timedelta

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

# Where the job table keeps no attempts, they are counted in the reap log. A month is longer than any job's retries
# take (the longest backoff that is usual, an hour, fits in 700 times).
KEEP_SECONDS = 30 * 86_400.0
PRUNE_BATCH = 5_000
RUNS_SINCE = 1
"""The version of the schema that remembers the runs of tasks."""
RETRIES_SINCE = 2
"""The version of the schema whose log takes retries."""
_LONGEST_MESSAGE = 1_000  # characters; an error's text can hold a whole row


@dataclass(frozen=True, slots=True)
class TaskRun:
    """How a run of a task went: `outcome` is `ok`, `nothing`, `busy` or `failed`, `message` for people."""

    task: str
    outcome: str
    duration: timedelta
    message: str = ""


def record_run(connection: Connection, table: JobTable, run: TaskRun) -> None:
    """Remember a run that has just ended, in place of the one before.

    Raises psycopg.Error, so that the caller can tell a lost connection from a missing schema.
    """
    connection.execute(
        sql.statement("log/upsert_task_run"),
        {
            "table_oid": table.relation.oid,
            "task": run.task,
            "job_table": table.name,
            "outcome": run.outcome,
            "duration_seconds": run.duration.total_seconds(),
            "message": run.message[:_LONGEST_MESSAGE].replace("\0", ""),
            "host": socket.gethostname(),
            "pid": os.getpid(),
        },
    )


def reap_log_writable(connection: Connection) -> bool:
    """Whether what is reaped can be written to the reap log. Raises psycopg.Error as `record_run` does."""
    row = connection.execute(sql.statement("log/reap_log_writable"), {}).fetchone()
    return row is not None and bool(row[0])


def retries_writable(connection: Connection) -> bool:
    """Whether the reap log may be written, and is of the version that takes retries.

    Raises psycopg.Error, DatabaseFailed, DatabaseUnreachable.
    """
    if not reap_log_writable(connection):
        return False
    try:
        return (versions.installed(connection) or 0) >= RETRIES_SINCE
    except NotPermitted:
        return False


def reap_log_readable(connection: Connection) -> bool:
    """Whether what was reaped can be read in the reap log. Raises psycopg.Error as `record_run` does."""
    row = connection.execute(sql.statement("log/reap_log_readable"), {}).fetchone()
    return row is not None and bool(row[0])


def prune(connection: Connection) -> int:
    """Forget what is older than 30 days, at most one batch of the reap log; returns the rows deleted.

    Raises psycopg.Error as `record_run` does.
    """
    deleted = connection.execute(sql.statement("log/delete_old_task_runs"), {"keep_seconds": KEEP_SECONDS}).rowcount
    batch = {"keep_seconds": KEEP_SECONDS, "batch": PRUNE_BATCH}
    return deleted + connection.execute(sql.statement("log/delete_old_reap_log"), batch).rowcount
