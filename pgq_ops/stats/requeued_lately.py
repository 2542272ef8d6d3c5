"""How many jobs were given to a second worker lately, by the reap log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops import sql

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

WITHIN_SECONDS = 86_400.0
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Requeued:
    """Jobs that were requeued within a day; `at_least`: there may be more."""

    jobs: int
    at_least: bool = False


def read(connection: Connection, table: JobTable) -> Requeued | None:
    """Look at the log's last 10,000 entries; None where it is not installed. Raises the driver's errors."""
    parameters = {"oid": table.relation.oid, "within": WITHIN_SECONDS, "limit": _MOST}
    try:
        rows = connection.execute(sql.statement("stats/requeued_lately"), parameters).fetchall()
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        return None
    jobs, at_least = rows[0]
    return Requeued(jobs, at_least=bool(at_least))
