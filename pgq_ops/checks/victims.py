"""Sessions whose transaction goes on only because they wait for a lock: not they are to be ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.checks.look import Look
    from pgq_ops.stats.horizon import Holder
    from pgq_ops.stats.transactions import Transaction

    Session = TypeVar("Session", Holder, Transaction)


def only_waiting(look: Look, sessions: Iterable[Session]) -> frozenset[Session]:
    """Those that wait for a lock, and whose transaction was no long one when the wait began."""
    blocking, limit = look.database.blocking, look.database.warn_after_seconds
    waited = {one.pid: one.seconds for one in blocking.waiters} if blocking is not None else {}
    waiting = {one: waited[one.pid] for one in sessions if one.pid in waited}
    return frozenset(
        one
        for one, seconds in waiting.items()
        if one.seconds is None or seconds is None or one.seconds - seconds <= limit
    )
