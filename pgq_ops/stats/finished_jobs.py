"""How many jobs finished in a stretch of time, by queue and final state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.job_table.quoting import literal
from pgq_ops.stats import bounded

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

FINAL_STATES = ("done", "dead", "cancelled")


@dataclass(frozen=True, slots=True)
class FinishedJobs:
    """Jobs of one queue that finished in one state."""

    queue: str | None
    state: str
    jobs: int


def look(table: JobTable) -> composing.Composed | None:
    """The look by `finished_at`; None where it, or every final state, is not mapped. Parameters: since, until."""
    finished = table.fields.get("finished_at")
    finals = [state for state in FINAL_STATES if state in table.states]
    if finished is None or not finals:
        return None
    cases = [composing.SQL("WHEN {} THEN {}").format(table.is_state(state), literal(state)) for state in finals]

    def bound(parameter: LiteralString) -> composing.Composable:
        moment = composing.SQL("to_timestamp({}::float8)").format(composing.SQL(parameter))
        return table.clock.compared(moment, finished)

    fragments = {
        "queue": table.queue(),
        "state": composing.SQL("CASE {} END").format(composing.SQL(" ").join(cases)),
        "table": table.relation.sql,
        "after_since": composing.SQL("{} > {}").format(finished.value, bound("%(since)s")),
        "until": composing.SQL("{} <= {}").format(finished.value, bound("%(until)s")),
        "is_finished": table.is_state(*finals),
    }
    return sql.statement("stats/finished_jobs", fragments)


def read(connection: Connection, table: JobTable, since: float, until: float) -> tuple[FinishedJobs, ...]:
    """Jobs whose `finished_at` is in (since, until], epoch seconds: only with `Question.FINISHED` served."""
    statement = look(table)
    if statement is None:
        return ()
    rows, _ = bounded.read(connection, table, statement, {"since": since, "until": until})
    return tuple(FinishedJobs(*row) for row in rows)
