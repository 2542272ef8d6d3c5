"""The round as the JSON document of design.md §3; what could not be read is null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pgq_ops.cli.dead_numbers import MOST_ERRORS, numbers_as_json
from pgq_ops.cli.inspection import vital_document
from pgq_ops.cli.inspection.rows import OTHER_STATES, STATES, queue_rows
from pgq_ops.job_table.queue_labels import shown
from pgq_ops.stats.leases import oldest_expired

if TYPE_CHECKING:
    from pgq_ops.cli.inspection.rows import QueueRow
    from pgq_ops.cli.inspection.view import Round, TableView
    from pgq_ops.stats.leases import Leases

# Sums over the queues; they are lower bounds where `exact` is false.
_CONDITIONS = ("live", "expired", "stale", "missing", "overlong", "future")


def document(seen: Round) -> dict[str, Any]:
    """The whole document: plain values, durations as numbers in seconds, times as ISO 8601."""
    return {"job_tables": [_table(view, seen) for view in seen.tables]}


def _table(view: TableView, seen: Round) -> dict[str, Any]:
    look = view.look
    depths = look.depths if look else None
    return {
        "name": view.name,
        "table": view.table,
        "collected_at": view.collected_at,
        "queues": [_queue(row) for row in queue_rows(look.table, depths)] if look and depths else None,
        "leases": _leases(look.leases) if look and look.leases else None,
        "next_expiries": None
        if view.expiries is None
        else [
            {
                "id": one.id,
                "queue": one.queue,
                "owner": one.owner,
                "left_seconds": _rounded(one.seconds_left),
                "attempts": one.attempts,
            }
            for one in view.expiries
        ],
        "dead_letters": None if view.dead is None else numbers_as_json(view.dead, MOST_ERRORS),
        "task_runs": None
        if view.runs is None
        else [
            {
                "task": run.task,
                "at": run.at,
                "ago_seconds": _rounded(run.seconds_ago),
                "success_ago_seconds": _rounded(run.success_seconds_ago),
                "outcome": run.outcome,
                "duration_seconds": run.duration_seconds,
                "message": run.message,
                "host": run.host,
                "pid": run.pid,
            }
            for run in view.runs
        ],
        "agents": None
        if view.agents is None
        else [
            {"mode": one.mode, "looked_ago_seconds": _rounded(one.seconds_ago), "host": one.host, "pid": one.pid}
            for one in view.agents
        ],
        "claim": vital_document.claim(look) if look else None,
        "relation": vital_document.relation(look.health) if look else None,
        "partitions": None,
        "horizon": vital_document.horizon(seen.shared.horizon),
        "sessions": vital_document.sessions(seen.shared),
        "findings": [finding.as_json() for finding in view.findings] if look is not None else None,
        "not_read": {**seen.not_read, **view.not_read},
        "error": None if view.error is None else str(view.error),
    }


def _queue(row: QueueRow) -> dict[str, Any]:
    states = [*STATES, *(state for state in OTHER_STATES if state in row.counts)]
    counts = {state: row.counts[state].value if state in row.counts else None for state in states}
    exact = {state: state in row.counts and row.counts[state].exact for state in states}
    age = row.oldest_ready
    return {
        "queue": row.queue,
        **counts,
        "exact": exact,
        "oldest_ready_seconds": None if age is None else _rounded(age.seconds),
        "oldest_ready_exact": age is not None and age.exact,
        "slo_oldest_ready_seconds": row.promised_seconds,
    }


def _leases(leases: Leases) -> dict[str, Any]:
    return {
        **{condition: leases.total(condition) for condition in _CONDITIONS},
        "oldest_expired_seconds": _rounded(oldest_expired(leases.queues)),
        "exact": not leases.truncated,
        "queues": [
            {
                "queue": shown(queue.queue),
                **{condition: getattr(queue, condition) for condition in _CONDITIONS},
                "oldest_expired_seconds": _rounded(queue.oldest_expired_seconds),
                "oldest_stale_seconds": _rounded(queue.oldest_stale_seconds),
                "oldest_missing_seconds": _rounded(queue.oldest_missing_seconds),
                "oldest_overlong_seconds": _rounded(queue.oldest_overlong_seconds),
            }
            for queue in leases.worst_first()
        ],
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
