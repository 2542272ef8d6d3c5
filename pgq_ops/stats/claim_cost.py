"""What finding the next job costs now: the claim's SELECT, without its locking clause, explained and run."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from psycopg import errors

from pgq_ops import sql
from pgq_ops.stats import bounded, claim_query, plans

if TYPE_CHECKING:
    from collections.abc import Mapping

    from psycopg import sql as composing

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.plans import Plan

# Of so many indexes, one a leaf, a line for people names the first few.
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """How the next job is found. `node` is one line for people, such as `Index Scan using jobs_pending`.

    `rows_read` were looked at, filtered ones included, for `rows_returned`. `scans`: each table that was read with its
    index, the index empty where it was read whole.
    """

    node: str
    indexes: tuple[str, ...] = ()
    sorts: bool = False
    scans_table: bool = False
    rows_read: int = 0
    rows_returned: int = 0
    scans: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimCost:
    """The cost of one claim, planned with its state known (a custom plan), as where that stands in the statement.

    `buffers`: pages hit and read at the top of the plan, planning left out. `seconds`: execution; both are None where
    the look `timed_out`, after so many seconds: then they are more than that, and the plan is not known; `planned` says
    how a job would have been found, empty where even that took too long. `if_generic`: the cost of a claim that gets
    its state as a parameter and is planned without it (`generic`); None where PostgreSQL would not come to do so.
    """

    buffers: int | None
    seconds: float | None
    plan: ClaimPlan | None
    generic: bool = False
    timed_out: bool = False
    timeout_seconds: float = 0.0
    planned: str = ""
    if_generic: ClaimCost | None = None


def look(table: JobTable) -> composing.SQL:
    """The look, which returns EXPLAIN's JSON: worth keeping where it is made again and again."""
    return bounded.composed_once(sql.statement("stats/claim_cost", claim_query.fragments(table)))


@cache
def settings() -> composing.SQL:
    """The statement before a look."""
    return bounded.composed_once(sql.statement("stats/claim_settings"))


def read(connection: Connection, table: JobTable, *, composed: composing.SQL | None = None) -> ClaimCost | None:
    """Look once; None where no state is mapped as pending. `composed` is `look()`, if it was kept.

    A table whose rows nobody may read just now raises LockNotAvailable within the session's lock timeout; the driver's
    other errors are raised too, but not the statement timeout's.
    """
    if "pending" not in table.states:
        return None
    return measured(connection, table, composed or look(table))


def measured(connection: Connection, table: JobTable, explaining: composing.Composable) -> ClaimCost:
    """The cost by an EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) of a claim."""
    began = time.monotonic()
    looks = [settings(), explaining]
    try:
        (_, rows), _ = bounded.read_all(connection, table, looks, {}, through_indexes=False, again=True)
    except errors.QueryCanceled:
        return _timed_out(connection, table, time.monotonic() - began)
    return _cost(rows)


def measured_beside(
    connection: Connection,
    table: JobTable,
    explaining: composing.SQL,
    look: composing.SQL,
    parameters: Mapping[str, Any],
) -> tuple[ClaimCost, bounded.Rows]:
    """The same in one message with another look; gives its rows too. Raises the driver's errors, of either."""
    looks = [settings(), explaining, look]
    (_, rows, beside), _ = bounded.read_all(connection, table, looks, parameters, through_indexes=False, again=True)
    return _cost(rows), beside


def _cost(rows: bounded.Rows) -> ClaimCost:
    [explained] = rows[0][0]
    top = explained["Plan"]
    buffers = int(top["Shared Hit Blocks"]) + int(top["Shared Read Blocks"])
    return ClaimCost(buffers, float(explained["Execution Time"]) / 1000, described(top))


def described(top: Plan) -> ClaimPlan:
    """A plan that was run, by its top node."""
    executed = [scan for scan in plans.job_scans(top) if scan.get("Actual Loops")]
    scans = tuple((str(scan["Relation Name"]), index) for scan in executed for index in _indexes(scan) or [""])
    return ClaimPlan(
        node=described_node(top),
        indexes=tuple(dict.fromkeys(index for _, index in scans if index)),
        sorts=plans.sorts(top),
        scans_table=any(not index for _, index in scans),
        rows_read=sum(_rows_read(scan) for scan in executed),
        rows_returned=round(top["Actual Rows"] * top["Actual Loops"]),
        scans=scans,
    )


def described_node(top: Plan) -> str:
    """The scans of a plan, and whether their rows are sorted, in one line."""
    scans = list(plans.job_scans(top))
    kinds = dict.fromkeys(str(scan["Node Type"]) for scan in scans)
    indexes = list(dict.fromkeys(index for scan in scans for index in _indexes(scan)))
    more = f" and {len(indexes) - _MOST_NAMED} more" if len(indexes) > _MOST_NAMED else ""
    names = ", ".join(indexes[:_MOST_NAMED]) + more
    using = f" using {names}" if indexes else ""
    return ("Sort of " if plans.sorts(top) else "") + " and ".join(kinds) + using


def _indexes(scan: Plan) -> list[str]:
    return [str(node["Index Name"]) for node in plans.nodes(scan) if "Index Name" in node]


def _rows_read(scan: Plan) -> int:
    removed = sum(float(scan.get(f"Rows Removed by {why}", 0)) for why in ("Filter", "Index Recheck"))
    return round((float(scan["Actual Rows"]) + removed) * int(scan["Actual Loops"]))


def _timed_out(connection: Connection, table: JobTable, seconds: float) -> ClaimCost:
    """What is still known then. Raises QueryCanceled where it was no timeout but somebody's request."""
    with bounded.transaction(connection, table, through_indexes=False):
        timeout = float(connection.execute(sql.statement("stats/statement_timeout"), {}).fetchall()[0][0])
        if not timeout or seconds < timeout:
            raise errors.QueryCanceled("the look at the claim was cancelled")
        try:
            with connection.transaction():
                connection.execute(settings(), {})
                [explained] = connection.execute(planning(table), {}).fetchall()[0][0]
            planned = described_node(explained["Plan"])
        except errors.QueryCanceled:
            planned = ""
    return ClaimCost(None, None, None, timed_out=True, timeout_seconds=timeout, planned=planned)


def planning(table: JobTable) -> composing.Composed:
    """The claim's SELECT, only planned; returns EXPLAIN's JSON."""
    return sql.statement("stats/claim_plan", claim_query.fragments(table))
