"""The one statement by which jobs are counted: by queue and state, over the first rows of a condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.job_table.quoting import all_of, literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pgq_ops.job_table.dead_place import DeadPlace
    from pgq_ops.job_table.table import JobTable

CAP = 10_000
"""Beyond this many rows a number is estimated: counting them takes about 2 ms a state (performance.md)."""

_NO_MOMENT = composing.SQL("NULL::timestamptz")

# Of each state the fields that tell since when, the best first.
_SINCE = {"pending": ("available_at", "created_at"), "dead": ("finished_at", "created_at")}

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
    order: composing.Composable = composing.SQL("")
    available = table.fields.get("available_at")
    if available is not None and ordered:
        order = composing.SQL("ORDER BY {}").format(available.value)
    fragments = {
        "queue": table.queue(),
        "state": _due_or_not(table) if state == "pending" else literal(state),
        "since": since(table, state),
        "moment": _first_known(table, "available_at") if state == "pending" else _NO_MOMENT,
        "table": table.relation.sql,
        "condition": all_of(conditions(table, state, after_watermark=after_watermark)),
        "order": order,
    }
    return sql.statement("stats/sample_jobs", fragments)


def all_jobs(table: JobTable) -> composing.Composed:
    """The look at every row. Parameter: `limit`."""
    states = [state for state in STATES if state in table.states]
    names = [_due_or_not(table) if state == "pending" else literal(state) for state in states]
    whens = [
        composing.SQL("WHEN {} THEN {}").format(table.is_state(state), name)
        for state, name in zip(states, names, strict=True)
    ]
    ready_or_dead = composing.SQL("CASE WHEN {} THEN {} WHEN {} THEN {} END").format(
        table.is_state("pending"), since(table, "pending"), table.is_state("dead"), since(table, "dead")
    )
    fragments = {
        "queue": table.queue(),
        "state": composing.SQL("CASE {} WHEN true THEN 'unknown' END").format(composing.SQL(" ").join(whens)),
        "since": ready_or_dead,
        "moment": _NO_MOMENT,
        "table": table.relation.sql,
        "condition": composing.SQL("true"),
        "order": composing.SQL(""),
    }
    return sql.statement("stats/sample_jobs", fragments)


def dead_letters(place: DeadPlace) -> composing.Composed:
    """The look at the dead-letter table. Parameter: `limit`."""
    fragments = {
        "queue": place.table.queue(),
        "state": literal("dead"),
        "since": place.died_at(),
        "moment": _NO_MOMENT,
        "table": place.relation.sql,
        "condition": place.is_dead(),
        "order": composing.SQL(""),
    }
    return sql.statement("stats/sample_jobs", fragments)


def conditions(table: JobTable, state: str, *, after_watermark: bool = False) -> list[composing.Composable]:
    """Which rows a look at one state is about."""
    found = [table.is_state(state)]
    available = table.fields.get("available_at")
    if available is not None and after_watermark:
        moment = composing.SQL("pg_catalog.to_timestamp(%(watermark)s::float8)")
        bound = table.clock.compared(moment, available)
        found.append(composing.SQL("{} >= {}").format(available.value, bound))
    return found


def since(table: JobTable, state: str) -> composing.Composable:
    """Since when the job is ready or dead, as timestamptz; NULL in any other state."""
    return _first_known(table, *_SINCE.get(state, ()))


def tells_since(table: JobTable, state: str) -> bool:
    """Whether any column tells since when a job is ready or dead."""
    return any(name in table.fields for name in _SINCE.get(state, ()))


def parsed(rows: Iterable[Sequence[Any]]) -> list[Sampled]:
    """The rows of one of the looks."""
    return [Sampled(*row) for row in rows]


def _due_or_not(table: JobTable) -> composing.Composable:
    return composing.SQL("CASE WHEN {} THEN 'ready' ELSE 'scheduled' END").format(table.is_due())


def _first_known(table: JobTable, *fields: str) -> composing.Composable:
    """The first of the fields that is mapped and finite; NULL where none is."""
    moments = [table.clock.finite(table.fields[name]) for name in fields if name in table.fields]
    return composing.SQL("COALESCE({})").format(composing.SQL(", ").join(moments)) if moments else _NO_MOMENT
