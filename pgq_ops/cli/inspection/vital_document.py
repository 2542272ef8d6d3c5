"""The claim, the table's health, the horizon and the sessions, as parts of the JSON document."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pgq_ops.checks.look import DatabaseLook, Look
    from pgq_ops.stats.horizon import Horizon
    from pgq_ops.stats.table_health import LeafHealth, TableHealth


def claim(look: Look) -> dict[str, Any] | None:
    """What finding the next job costs, and the workers' own claims; null where neither was read."""
    cost, locked, own = look.claim, look.ready_locked, look.claim_statements
    if cost is None and locked is None:
        return None
    return {
        "buffers": None if cost is None else cost.buffers,
        "seconds": None if cost is None or cost.seconds is None else round(cost.seconds, 6),
        "plan": None if cost is None or cost.plan is None else cost.plan.node,
        "timed_out": cost is not None and cost.timed_out,
        "ready_locked": None if locked is None else locked.locked,
        "ready_looked_at": None if locked is None else locked.looked_at,
        "statements": None
        if own is None or own.why_not
        else {"calls": own.calls, "seconds": round(own.seconds, 6), "rows": own.rows},
        "statements_not_read": own.why_not if own is not None and own.why_not else None,
    }


def relation(found: TableHealth | None) -> dict[str, Any] | None:
    """The table's rows, thresholds and sizes, all leaves together, and leaf by leaf."""
    if found is None:
        return None
    return {
        "live_tuples": found.live_rows,
        "dead_tuples": found.dead_rows,
        "vacuum_threshold": round(found.vacuum_threshold),
        "table_bytes": found.table_bytes,
        "index_bytes": found.index_bytes,
        "last_vacuum": _time(found.last_vacuumed),
        "xid_age": found.xid_age,
        "vacuum_running": found.vacuums_running > 0,
        "statistics_lost": found.statistics_lost,
        "leaves": [_leaf(leaf) for leaf in found.leaves],
    }


def _leaf(leaf: LeafHealth) -> dict[str, Any]:
    updates = leaf.updated
    return {
        "table": str(leaf.relation),
        "live_tuples": leaf.live_rows,
        "dead_tuples": leaf.dead_rows,
        "vacuum_threshold": round(leaf.vacuum_threshold),
        "autovacuum_enabled": leaf.autovacuum_enabled,
        "table_bytes": leaf.table_bytes if leaf.sized else None,
        "index_bytes": leaf.index_bytes if leaf.sized else None,
        "last_vacuum": _time(leaf.last_vacuumed),
        "last_vacuum_removed": None if leaf.outcome is None else leaf.outcome.removed_rows,
        "last_vacuum_left": None if leaf.outcome is None else leaf.outcome.left_rows,
        "last_analyze": _time(leaf.last_analyze),
        "hot_ratio": round(leaf.hot_updated / updates, 4) if updates else None,
        "xid_age": leaf.xid_age,
    }


def horizon(found: Horizon | None) -> dict[str, Any] | None:
    """Who holds vacuum back."""
    if found is None:
        return None
    return {
        "age_xids": None if found.standby else found.age_xids,
        "catalog_xmin_age_xids": found.catalog_xmin_age,
        "visible": found.visible,
        "standby": found.standby,
        "holders": [
            {
                "kind": one.kind,
                "pid": one.pid,
                "name": one.name,
                "user": one.user,
                "state": one.state,
                "seconds": _rounded(one.seconds),
                "xid_age": one.xid_age,
                "remedy": one.remedy,
            }
            for one in found.holders
        ],
    }


def sessions(shared: DatabaseLook) -> dict[str, Any] | None:
    """Clients' transactions and waiting sessions in a few numbers; `pgq-ops transactions list` has each."""
    found, waiting = shared.transactions, shared.blocking
    if found is None or not found.visible:
        return None
    told = not found.hidden
    return {
        "long": len(found.longer_than(shared.warn_after_seconds)) if told else None,
        "idle_in_transaction": sum(one.idle for one in found.sessions) if told else None,
        "longest_seconds": _rounded(max((one.seconds for one in found.sessions), default=0.0)) if told else None,
        "hidden": found.hidden,
        "blocked": None if waiting is None else len(waiting.waiters),
    }


def _time(epoch_seconds: float | None) -> str | None:
    if epoch_seconds is None:
        return None
    return datetime.fromtimestamp(epoch_seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
