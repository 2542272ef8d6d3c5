"""Who waits for whom: from a session that waits, over those in its way, to the one that does not wait itself."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pgq_ops.stats.blocking import Blocking, Waiter


def longest_chain(blocking: Blocking, waiters: Iterable[Waiter]) -> tuple[int, ...]:
    """The pids from the waiter that is furthest from the end to that end; of equals, of the first waiter.

    Of a queue for one row each waiter has all those before it in its way: the shortest way from each leaves these out.
    One without a way out, as in a deadlock, is a chain by itself.
    """
    after = _next_on_the_way_out(blocking)
    return max((_way_out(one.pid, after) for one in waiters), key=len, default=())


def ends(blocking: Blocking) -> Mapping[int, int]:
    """By the pid of each waiter that has a way out, the pid of the one at its end, who does not wait."""
    after, found = _next_on_the_way_out(blocking), dict[int, int]()
    for pid, following in after.items():  # nearer to an end come first
        found[pid] = found.get(following, following)
    return found


def behind(blocking: Blocking, pid: int) -> int:
    """How many sessions wait for this one in the end, directly or behind others."""
    waiting, reached, queue = _waiting_for(blocking), {pid}, deque([pid])
    while queue:
        more = [one for one in waiting[queue.popleft()] if one not in reached]
        reached.update(more)
        queue.extend(more)
    return len(reached) - 1


def _waiting_for(blocking: Blocking) -> defaultdict[int, list[int]]:
    waiting: defaultdict[int, list[int]] = defaultdict(list)
    for one in blocking.waiters:
        for other in one.blocked_by:
            waiting[other].append(one.pid)
    return waiting


def _next_on_the_way_out(blocking: Blocking) -> dict[int, int]:
    """Of each waiter the next one on its shortest way to somebody who does not wait: found from all ends at once."""
    waiting, after = _waiting_for(blocking), {}
    queue = deque(waiting.keys() - {one.pid for one in blocking.waiters})
    while queue:
        pid = queue.popleft()
        for one in waiting[pid]:
            if one not in after:
                after[one] = pid
                queue.append(one)
    return after


def _way_out(pid: int, after: Mapping[int, int]) -> tuple[int, ...]:
    chain = [pid]
    while chain[-1] in after:
        chain.append(after[chain[-1]])
    return tuple(chain)
