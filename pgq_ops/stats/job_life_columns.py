"""What is asked of one job, as named expressions over its row `j`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from psycopg import sql

from pgq_ops.job_table.changes import ReapChanges
from pgq_ops.job_table.leases import LeaseTerms
from pgq_ops.job_table.quoting import identifier, literal
from pgq_ops.stats.dead_error_head import error_head

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.config.policy import QueuePolicy
    from pgq_ops.job_table.dead_place import DeadPlace
    from pgq_ops.job_table.table import JobTable

TIMES = ("created_at", "available_at", "leased_at", "heartbeat_at", "lease_expires_at", "finished_at")

_LEAF = sql.SQL(
    "(SELECT pg_catalog.concat(n.nspname, '.', c.relname) FROM pg_class AS c"
    " JOIN pg_namespace AS n ON n.oid = c.relnamespace"
    " WHERE c.oid = j.tableoid)"
)
# A number of any type, NaN and infinite ones too, as a whole one.
_WHOLE = sql.SQL("LEAST(GREATEST(({})::numeric, -9e18), 9e18)::bigint")
_NOTHING = {
    "attempt": sql.SQL("NULL::bigint"),
    "buries": sql.SQL("NULL::boolean"),
    "delay_seconds": sql.SQL("NULL::float8"),
}


def columns(
    place: DeadPlace, policy: QueuePolicy, *, logged: bool, ceiling: sql.Composable | None = None
) -> sql.Composable:
    """The list of a SELECT, each by its name in `JobLife`; times as `NAME` (ISO 8601) and `NAME_seconds` (since then).

    `logged`: the reap log may be read, in which attempts are counted where the table keeps none. `ceiling`: see
    `ReapChanges`.
    """
    table, fields = place.table, place.table.fields
    named = {
        "key": table.key_text(),
        "id": place.shown_id(),
        "table": _LEAF if table.partitioned else literal(str(place)),
        "state": literal("dead") if place.is_dead_letter_table else _state(table),
        "state_value": place.text_of("state"),
        "queue": table.queue(),
        "kind": place.text_of("kind"),
        "priority": place.text_of("priority"),
        "owner": place.text_of("owner"),
        "attempts": _WHOLE.format(fields["attempts"].value) if "attempts" in fields else sql.SQL("NULL::bigint"),
        "max_attempts": _WHOLE.format(ReapChanges(table, policy).max_attempts()),
        "error": error_head(place),
        **(_NOTHING if place.is_dead_letter_table else _reaping(table, policy, ceiling, logged=logged)),
        **_lease(LeaseTerms(table, (policy,))),
        **_times(table, policy),
    }
    return sql.SQL(", ").join(sql.SQL("{} AS {}").format(value, identifier(name)) for name, value in named.items())


def _state(table: JobTable) -> sql.Composable:
    due = sql.SQL("CASE WHEN {} THEN 'ready' ELSE 'scheduled' END").format(table.is_due())
    whens = [
        sql.SQL("WHEN {} THEN {}").format(table.is_state(state), due if state == "pending" else literal(state))
        for state in table.states
    ]
    return sql.SQL("(CASE {} WHEN true THEN 'unknown' END)").format(sql.SQL(" ").join(whens))


def _reaping(
    table: JobTable, policy: QueuePolicy, ceiling: sql.Composable | None, *, logged: bool
) -> Mapping[str, sql.Composable]:
    """The attempt that runs, whether a reap would bury the job, and the longest delay that a requeue would give it."""
    if "attempts" not in table.fields and not logged:
        return _NOTHING
    backoff = policy.reaper.backoff.model_copy(update={"jitter": 0.0})
    at_most = replace(policy, reaper=policy.reaper.model_copy(update={"backoff": backoff}))
    delay = ReapChanges(table, at_most).delay_seconds()
    if ceiling is not None:
        left = sql.SQL("GREATEST(0, extract(epoch FROM {} - pg_catalog.now()))::float8").format(ceiling)
        delay = sql.SQL("LEAST({}, {})").format(delay, left)
    changes = ReapChanges(table, policy)
    return {
        "attempt": _WHOLE.format(changes.attempts_now()),
        "buries": changes.reaches_cap(),
        "delay_seconds": delay,
    }


def _lease(terms: LeaseTerms) -> dict[str, sql.Composable]:
    """In which condition a running job's lease is; NULL without any lease column, and of jobs that do not run."""
    if not terms.table.has_lease or "running" not in terms.table.states:
        return {"lease": sql.SQL("NULL::text"), "overlong": sql.SQL("false"), "future": sql.SQL("false")}
    running, over = terms.table.is_state("running"), terms.ran_out()
    condition = sql.SQL(
        "CASE WHEN {running} THEN CASE WHEN {missing} THEN 'missing' WHEN {stale} THEN 'stale'"
        " WHEN {over} THEN 'expired' ELSE 'live' END END"
    ).format(running=running, missing=terms.is_missing(), stale=terms.is_stale(), over=over)
    live = sql.SQL("COALESCE({} AND NOT ({}) AND ({}), false)")
    return {
        "lease": condition,
        "overlong": live.format(running, over, terms.is_overlong()),
        "future": live.format(running, over, terms.is_future()),
    }


def _times(table: JobTable, policy: QueuePolicy) -> dict[str, sql.Composable]:
    """`lease_expires_at` is when the lease ends, by whatever column that is told."""
    moments: dict[str, sql.Composable] = {
        name: table.clock.to_timestamptz(table.fields[name]) for name in TIMES if name in table.fields
    }
    if table.has_lease:
        moments["lease_expires_at"] = LeaseTerms(table, (policy,)).expires_at()
    named: dict[str, sql.Composable] = {}
    for name, moment in moments.items():
        named[name] = sql.SQL("pg_catalog.to_jsonb({}) #>> '{{}}'::text[]").format(moment)
        named[f"{name}_seconds"] = sql.SQL(
            "(CASE WHEN pg_catalog.isfinite({0}) THEN extract(epoch FROM pg_catalog.now() - {0}) END)::float8"
        ).format(moment)
    return named
