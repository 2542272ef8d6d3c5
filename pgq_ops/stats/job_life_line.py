"""What stands before a ready job: those that are claimed first, and whether any worker is at work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops import sql
from pgq_ops.db.connection import row_security
from pgq_ops.job_table.quoting import all_of
from pgq_ops.stats import bounded, claim_query

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

MOST_AHEAD = 10_000
"""More are not counted: to somebody who waits it is all the same."""
MOST_RUNNING = 100


@dataclass(frozen=True, slots=True)
class Line:
    """`ahead`: ready jobs that are claimed first, `MOST_AHEAD` for so many or more; None where counting took too long.

    `running`: jobs of the same queue that run now, `MOST_RUNNING` at most; None alike.
    """

    ahead: int | None
    running: int | None


def read(connection: Connection, table: JobTable, key: str, queue: str | None) -> Line:
    """The line before the ready job at an address. Raises the driver's errors but that of the timeout."""
    with row_security(connection, allowed=table.all_visible_policies):
        return Line(_ahead(connection, table, key), _running(connection, table, queue))


def _ahead(connection: Connection, table: JobTable, key: str) -> int | None:
    fragments = {
        "key_text": table.key_text(),
        "table": table.relation.sql,
        "is_ready": all_of([table.is_state("pending"), table.is_due()]),
        "in_order": claim_query.in_order(table),
    }
    statement = sql.statement("stats/job_line", fragments)
    try:
        [(place, seen)], _ = bounded.read(connection, table, statement, {"key": key, "limit": MOST_AHEAD + 1})
    except errors.QueryCanceled:
        return None
    if place is not None:
        return int(place) - 1
    return MOST_AHEAD if seen > MOST_AHEAD else None


def _running(connection: Connection, table: JobTable, queue: str | None) -> int | None:
    if "running" not in table.states:
        return None
    fragments = {"queue": table.queue(), "table": table.relation.sql, "is_running": table.is_state("running")}
    statement = sql.statement("stats/job_running", fragments)
    try:
        [(number,)], _ = bounded.read(connection, table, statement, {"queue": queue, "limit": MOST_RUNNING})
    except errors.QueryCanceled:
        return None
    return int(number)
