"""Sessions that wait for a lock on the job table, and whoever is at the end of the chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.lock_chain import behind, longest_chain
from pgq_ops.checks.session_words import MOST_NAMED, lasting, named
from pgq_ops.checks.wording import counted
from pgq_ops.stats.session_ending import printed
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.checks.look import Look
    from pgq_ops.stats.blocking import Blocker, Waiter

# A judgement: a row that two workers want at once, and DDL with a usual lock_timeout, are over sooner.
LONGEST_SECONDS = 5.0
# More waiters of a chain than this are counted in the sentence; the evidence has them.
_MOST_TOLD = 4

(BLOCKED_SESSIONS,) = IDS = ("blocked-sessions",)
NEEDS = ("transactions", "table")


def check(look: Look) -> Iterator[Finding]:
    """Critical: who waits does not work, and claims queue up behind a strong lock that is waited for."""
    blocking = look.database.blocking
    waiting = () if blocking is None else blocking.waiting_on(_oids(look))
    stuck = [one for one in waiting if (one.seconds or 0.0) > LONGEST_SECONDS]
    if blocking is None or not stuck:
        return
    chain = longest_chain(blocking, stuck)
    waiters = {one.pid: one for one in blocking.waiters}
    blockers = {one.pid: one for one in blocking.blockers}
    links = [waiters[pid] for pid in chain if pid in waiters]
    end = blockers.get(chain[-1]) if len(chain) > 1 else None
    longest = max(one.seconds or 0.0 for one in stuck)
    count = counted(len(waiting), "session")
    yield Finding(
        BLOCKED_SESSIONS,
        Severity.CRITICAL,
        f"{count} on {look.table} {'waits' if len(waiting) == 1 else 'wait'} for locks, for up to"
        f" {format_duration(float(round(longest)))}: {_sentence(links, end)}",
        {
            "waiting": len(waiting),
            "longest_seconds": round(longest, 1),
            "behind_the_end": behind(blocking, chain[-1]),
            "chain": [_waiting(one) for one in links[:MOST_NAMED]],
            "end": None if end is None else _ending(end),
        },
        "" if end is None else end.remedy,
    )


def _oids(look: Look) -> frozenset[int]:
    leaves = () if look.health is None else look.health.leaves
    return frozenset({look.table.relation.oid, *(leaf.oid for leaf in leaves)})


def _sentence(links: Sequence[Waiter], end: Blocker | None) -> str:
    waits = [f"waits for {one.what} ({one.mode})" for one in links]
    told = [
        f"{named(one)}{', which' if place else ''} {what}"
        for place, (one, what) in enumerate(zip(links, waits, strict=True))
    ]
    if len(told) > _MOST_TOLD:
        told[2:-1] = [f"{counted(len(told) - 3, 'more session')} in between"]
    if end is not None:
        told.append(f"{named(end)}, which is {end.state}, in a transaction open{lasting(end.seconds)}")
    return " behind ".join(told)


def _waiting(waiter: Waiter) -> dict[str, Any]:
    return {
        "pid": waiter.pid,
        "application_name": waiter.application_name,
        "user": waiter.user,
        "waiting_seconds": None if waiter.seconds is None else round(waiter.seconds, 1),
        "mode": waiter.mode,
        "what": waiter.what,
    }


def _ending(blocker: Blocker) -> dict[str, Any]:
    return {
        "session": printed(blocker.pid, blocker.started) if blocker.started else None,
        "pid": blocker.pid,
        "application_name": blocker.application_name,
        "user": blocker.user,
        "state": blocker.state,
        "seconds": None if blocker.seconds is None else round(blocker.seconds, 1),
    }
