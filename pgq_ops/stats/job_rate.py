"""How many jobs a second finish, by those that did within the last seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.stats import finished_jobs

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

_SECONDS = 20.0
# finished_at is often the transaction's start: so much later it has committed.
_LAG_SECONDS = 2.0


def read(connection: Connection, table: JobTable) -> float:
    """Look at twenty seconds: only with `Question.FINISHED` served. Raises the driver's errors."""
    rows, _ = finished_jobs.read(connection, table, 0.0, lag=_LAG_SECONDS, longest=_SECONDS)
    return sum(row.jobs for row in rows) / _SECONDS
