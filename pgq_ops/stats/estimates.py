"""How many rows there are, without reading them: the catalog's and the planner's estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.stats import bounded, plans

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

# What may be read whole: 32 MB and 200,000 rows, some 50 ms on a slow machine (performance.md: 1,642 ms for
# 11 million rows), half of what a look may take.
_SMALL_PAGES = 4_096
_SMALL_ROWS = 200_000


def table_rows(connection: Connection, oid: int) -> int:
    """The rows by the catalog and the statistics; 0 where they know nothing. Waits for no lock on the table."""
    row = connection.execute(sql.statement("stats/table_rows"), {"oid": oid}).fetchone()
    return int((row and row[0]) or 0)


def is_small(connection: Connection, table: JobTable) -> bool:
    """Whether the whole table may be read at a look.

    The planner counts the pages that are there now, also of a table that was never analysed; its cost is theirs.
    """
    settings = connection.execute(sql.statement("stats/cost_settings"), {}).fetchone()
    page_cost, row_cost = settings or (1.0, 0.01)
    plan = _plan(connection, table, composing.SQL("true"))
    affordable = _SMALL_PAGES * page_cost + _SMALL_ROWS * row_cost
    return bool(plan["Plan Rows"] <= _SMALL_ROWS and plan["Total Cost"] <= affordable)


def planned_rows(connection: Connection, table: JobTable, condition: composing.Composable) -> int:
    """The planner's estimate of the rows that fulfil a condition; may be several times wrong for rare ones."""
    return int(_plan(connection, table, condition)["Plan Rows"])


def _plan(connection: Connection, table: JobTable, condition: composing.Composable) -> plans.Plan:
    statement = sql.statement("stats/rows", {"table": table.relation.sql, "condition": condition})
    with bounded.transaction(connection, table, through_indexes=False):
        return plans.explain(connection, statement, {})
