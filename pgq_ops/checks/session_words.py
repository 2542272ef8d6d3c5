"""Sessions as findings name them: who, doing what for how long, and as evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pgq_ops.checks.remedy_steps import steps
from pgq_ops.checks.wording import counted
from pgq_ops.stats.blocking import PREPARED
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.stats.blocking import Blocker, Waiter
    from pgq_ops.stats.transactions import Transaction

# Evidence names the worst, not every connection of a pool.
MOST_NAMED = 10


def named(session: Transaction | Blocker | Waiter) -> str:
    """`session 4242 (report-job, user bi)`; a prepared transaction by its gid."""
    if session.pid == PREPARED:
        return f'prepared transaction "{session.application_name}" (user {session.user})'
    user = f"user {session.user}" if session.user else ""
    words = ", ".join(word for word in (session.application_name, user) if word)
    return f"session {session.pid} ({words})" if words else f"session {session.pid}"


def lasting(seconds: float | None) -> str:
    """` for 42m10s`, whole seconds; nothing where that is not known."""
    return "" if seconds is None else f" for {format_duration(float(round(seconds)))}"


def others(sessions: Sequence[Transaction], limit_seconds: float) -> str:
    """`; 2 others for more than 1m` where there are more than the one that was named."""
    more = len(sessions) - 1
    return f"; {counted(more, 'other')} for more than {format_duration(limit_seconds)}" if more else ""


def evidence(sessions: Sequence[Transaction]) -> list[dict[str, Any]]:
    """The first of them as plain values, without what they run."""
    return [
        {
            "session": one.session,
            "application_name": one.application_name,
            "user": one.user,
            "client": one.client,
            "state": one.state,
            "seconds": round(one.seconds, 1),
            "idle_seconds": None if one.idle_seconds is None else round(one.idle_seconds, 1),
            "xid_age": one.xid_age,
        }
        for one in sessions[:MOST_NAMED]
    ]


def remedies(sessions: Sequence[Transaction]) -> str:
    """The commands that end the first of them."""
    return steps(*(one.remedy for one in sessions[:MOST_NAMED]))
