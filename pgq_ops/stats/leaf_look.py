"""The look at the tables of a job table that hold rows, as the server's version allows it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.stats import bounded

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

# From this version on it is counted how long the vacuums of a table took.
_TIMED_FROM = 180000
_UNKNOWN = composing.SQL("NULL::float8")


def of(connection: Connection, table: JobTable) -> composing.SQL:
    """The look at the leaves of this table."""
    return _look(partitioned=table.partitioned, timed=connection.info.server_version >= _TIMED_FROM)


@cache
def _look(*, partitioned: bool, timed: bool) -> composing.SQL:
    tables = sql.statement("stats/attached_tables" if partitioned else "stats/one_table")
    seconds = sql.statement("stats/vacuum_seconds") if timed else _UNKNOWN
    return bounded.composed_once(sql.statement("stats/table_health", {"tables": tables, "vacuum_seconds": seconds}))
