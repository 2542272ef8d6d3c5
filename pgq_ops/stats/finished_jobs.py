"""How many jobs finished in a stretch of time, by queue and final state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.job_table.quoting import literal
from pgq_ops.stats import bounded

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

_UNTIL = composing.SQL("(pg_catalog.now() - pg_catalog.make_interval(secs => %(lag)s))")
_SINCE = composing.SQL(
    "greatest(pg_catalog.to_timestamp(%(since)s::float8), {} - pg_catalog.make_interval(secs => %(longest)s))"
).format(_UNTIL)

FINAL_STATES = ("done", "dead", "cancelled")


@dataclass(frozen=True, slots=True)
class FinishedJobs:
    """Jobs of one queue that finished in one state."""

    queue: str | None
    state: str
    jobs: int


def look(table: JobTable) -> composing.Composed | None:
    """The look by `finished_at`; None where it, or every final state, is not mapped.

    Parameters: since, lag, longest.
    """
    finished = table.fields.get("finished_at")
    finals = [state for state in FINAL_STATES if state in table.states]
    if finished is None or not finals:
        return None
    cases = [composing.SQL("WHEN {} THEN {}").format(table.is_state(state), literal(state)) for state in finals]
    fragments = {
        "queue": table.queue(),
        "state": composing.SQL("CASE {} END").format(composing.SQL(" ").join(cases)),
        "table": table.relation.sql,
        "after_since": composing.SQL("{} > {}").format(finished.value, table.clock.compared(_SINCE, finished)),
        "until": composing.SQL("{} <= {}").format(finished.value, table.clock.compared(_UNTIL, finished)),
        "is_finished": table.is_state(*finals),
    }
    return sql.statement("stats/finished_jobs", fragments)


def read(
    connection: Connection, table: JobTable, since: float | None, *, lag: float, longest: float
) -> tuple[tuple[FinishedJobs, ...], float]:
    """Jobs whose `finished_at` is in (since, until], and until (epoch seconds): `lag` seconds before now.

    No more than the last `longest` seconds of it; none without a since. Only with `Question.FINISHED` served.
    """
    statement = look(table)
    if statement is None:
        return (), 0.0
    parameters = {"since": since, "lag": lag, "longest": longest if since is not None else 0.0}
    rows, now = bounded.read(connection, table, statement, parameters)
    return tuple(FinishedJobs(*row) for row in rows), now - lag
