"""Ready jobs that a session has held locked for long: no claim gets them, and the queue looks empty to the workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pgq_ops.checks import oldest_ready
from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.remedy_steps import steps
from pgq_ops.checks.session_words import MOST_NAMED, lasting
from pgq_ops.checks.wording import counted
from pgq_ops.stats.session_ending import prepared_remedy, printed, remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look
    from pgq_ops.stats.ready_locked import LockHolder

(READY_LOCKED,) = IDS = ("ready-locked",)
NEEDS = ("ready_locked", "claim")


def check(look: Look) -> Iterator[Finding]:
    """A warning; critical once a job has waited for longer than was promised.

    A claim holds its lock for milliseconds: only who has a transaction open for longer than `transactions.warn_after`,
    or has been seen with such locks for so long, is named.
    """
    seen = look.ready_locked
    stuck = [
        holder
        for holder in (seen.holders if seen is not None else ())
        if _held_seconds(holder) >= look.database.warn_after_seconds
    ]
    if seen is None or not stuck:
        return
    first, others = stuck[0], len(stuck) - 1
    late = any(True for _ in oldest_ready.check(look))
    kept = "is locked, and no claim gets it" if seen.locked == 1 else "are locked, and no claim gets them"
    yield Finding(
        READY_LOCKED,
        Severity.CRITICAL if late else Severity.WARNING,
        f"{seen.locked:,} of the first {counted(seen.looked_at, 'ready job')} of {look.table} {kept}: {first.jobs:,} by"
        f" {_named(first)}{lasting(_held_seconds(first))}"
        + (f", and some by {counted(others, 'other')}" if others else ""),
        {
            "looked_at": seen.looked_at,
            "locked": seen.locked,
            "holders": [_evidence(holder) for holder in stuck[:MOST_NAMED]],
        },
        steps(*(_remedy(holder) for holder in stuck[:MOST_NAMED])),
    )


def _held_seconds(holder: LockHolder) -> float:
    return max(holder.seconds or 0.0, holder.seen_seconds)


def _named(holder: LockHolder) -> str:
    user = f"user {holder.user}" if holder.user else ""
    if not holder.pid:
        return f'prepared transaction "{holder.application_name}" ({user})'
    words = ", ".join(word for word in (holder.application_name, user, holder.state) if word)
    return f"session {holder.pid} ({words})" if words else f"session {holder.pid}"


def _evidence(holder: LockHolder) -> dict[str, Any]:
    return {
        "session": printed(holder.pid, holder.started) if holder.started else None,
        "pid": holder.pid or None,
        "name": holder.application_name,
        "user": holder.user,
        "state": holder.state,
        "seconds": round(_held_seconds(holder), 1),
        "jobs": holder.jobs,
    }


def _remedy(holder: LockHolder) -> str:
    if not holder.pid:
        return prepared_remedy(holder.application_name)
    return remedy(holder.pid, holder.started or None, superuser=holder.superuser)
