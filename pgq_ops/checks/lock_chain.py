"""Who waits for whom: from a session that waits, over those in its way, to the one that does not wait itself."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pgq_ops.stats.blocking import Blocking, Waiter


def longest_chain(blocking: Blocking, waiters: Iterable[Waiter]) -> tuple[int, ...]:
    """The pids from the waiter that is furthest from the end to that end; of equals, of the first waiter.

    Of a queue for one row each waiter has all those before it in its way: the shortest way from each leaves these out.
    """
    behind = {one.pid: one.blocked_by for one in blocking.waiters}
    return max((_way_out(one.pid, behind) for one in waiters), key=len, default=())


def behind(blocking: Blocking, pid: int) -> int:
    """How many sessions wait for this one in the end, directly or behind others."""
    reached = {pid}
    while more := {one.pid for one in blocking.waiters if one.pid not in reached and reached & {*one.blocked_by}}:
        reached |= more
    return len(reached) - 1


def _way_out(pid: int, behind: Mapping[int, tuple[int, ...]]) -> tuple[int, ...]:
    """The shortest chain from a waiter to somebody who does not wait; only itself where there is none (a deadlock)."""
    seen = {pid}
    chains: deque[tuple[int, ...]] = deque([(pid,)])
    while chains:
        chain = chains.popleft()
        if chain[-1] not in behind:
            return chain
        for other in behind[chain[-1]]:
            if other not in seen:
                seen.add(other)
                chains.append((*chain, other))
    return (pid,)
