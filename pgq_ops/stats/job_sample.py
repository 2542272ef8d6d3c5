"""The one statement by which jobs are counted: by queue and state, over the first rows of a condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.job_table.quoting import all_of, any_of, literal

if TYPE_CHECKING:
    from pgq_ops.db import Connection
    from pgq_ops.job_table.table import JobTable, Relation

CAP = 10_000
"""Beyond this many rows a number is estimated: counting them takes about 2 ms a state (performance.md)."""

STATES = ("pending", "running", "done", "dead", "blocked", "cancelled")


@dataclass(frozen=True, slots=True)
class Sampled:
    """Jobs of one queue in one state (pending is split into `scheduled` and `ready`; `unknown` is none of them)."""

    queue: str | None
    state: str
    jobs: int
    oldest_seconds: float | None
    first_moment: float | None
    last_moment: float | None


def jobs_in(table: JobTable, state: str, *, ordered: bool = False, after_watermark: bool = False) -> composing.Composed:
    """The look at one state. Parameters: `limit`, and `watermark` (epoch seconds) with `after_watermark`."""
    conditions = [table.is_state(state)]
    order: composing.Composable = composing.SQL("")
    available = table.fields.get("available_at")
    if available is not None and ordered:
        order = composing.SQL("ORDER BY {}").format(available.value)
    if available is not None and after_watermark:
        moment = composing.SQL("to_timestamp(%(watermark)s::float8)")
        bound = table.clock.from_timestamptz(moment, available)
        conditions.append(composing.SQL("{} >= {}").format(available.value, bound))
    return _statement(table, table.relation, all_of(conditions), order)


def all_jobs(table: JobTable) -> composing.Composed:
    """The look at every row. Parameter: `limit`."""
    return _statement(table, table.relation, composing.SQL("true"), composing.SQL(""))


def dead_letters(table: JobTable, relation: Relation) -> composing.Composed:
    """The look at the dead-letter table, which has all columns of the job table. Parameter: `limit`."""
    return _statement(table, relation, composing.SQL("true"), composing.SQL(""), every_row="dead")


def read(connection: Connection, look: composing.Composed, **parameters: float | None) -> list[Sampled]:
    """Run one of the looks above; raises the driver's errors."""
    rows = connection.execute(look, {"limit": CAP + 1, **parameters}).fetchall()
    return [Sampled(*row) for row in rows]


def _statement(
    table: JobTable,
    relation: Relation,
    condition: composing.Composable,
    order: composing.Composable,
    every_row: str | None = None,
) -> composing.Composed:
    available = table.fields.get("available_at")
    null = composing.SQL("NULL::float8")
    moment = null if available is None else _epoch(table.clock.finite(available))
    age = _dead_age(table) if every_row == "dead" else _age(table)
    fragments = {
        "queue": table.queue(),
        "state": literal(every_row) if every_row else _state(table),
        "age": age,
        "moment": moment,
        "table": relation.sql,
        "condition": condition,
        "order": order,
    }
    return sql.statement("stats/sample_jobs", fragments)


def _state(table: JobTable) -> composing.Composable:
    pending = composing.SQL("WHEN {} THEN CASE WHEN {} THEN 'ready' ELSE 'scheduled' END").format(
        table.is_state("pending"), table.is_due()
    )
    others = [
        composing.SQL("WHEN {} THEN {}").format(table.is_state(state), literal(state))
        for state in STATES
        if state in table.states and state != "pending"
    ]
    return composing.SQL("CASE {} ELSE 'unknown' END").format(composing.SQL(" ").join([pending, *others]))


def _age(table: JobTable) -> composing.Composable:
    ready = all_of([any_of([table.is_state("pending")]), table.is_due()])
    return composing.SQL("CASE WHEN {} THEN {} WHEN {} THEN {} END").format(
        ready, _seconds_since(table, "available_at", "created_at"), table.is_state("dead"), _dead_age(table)
    )


def _dead_age(table: JobTable) -> composing.Composable:
    return _seconds_since(table, "finished_at", "created_at")


def _seconds_since(table: JobTable, *fields: str) -> composing.Composable:
    """The age by the first of the fields that is finite; NULL where none is."""
    moments = [table.clock.finite(table.fields[name]) for name in fields if name in table.fields]
    if not moments:
        return composing.SQL("NULL::float8")
    since = composing.SQL("COALESCE({})").format(composing.SQL(", ").join(moments))
    return composing.SQL("GREATEST({}, 0)").format(_epoch(composing.SQL("now() - {}").format(since)))


def _epoch(moment: composing.Composable) -> composing.Composable:
    return composing.SQL("extract(epoch FROM {})::float8").format(moment)
