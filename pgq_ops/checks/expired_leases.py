"""Jobs whose worker is gone and that nobody takes back."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.policies import cared_for
from pgq_ops.checks.wording import by_queue, counted, oldest_first, reap_commands
from pgq_ops.config.writing import toml_key
from pgq_ops.stats.leases import oldest_expired
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look
    from pgq_ops.config.policy import QueuePolicy
    from pgq_ops.stats.leases import QueueLeases

# A pass that is missed may be chance (a lock, a slow batch), three are not.
_PASSES = 3

NOT_REAPED, EXPIRED_LEASES = IDS = ("not-reaped", "expired-leases")
NEEDS = ("leases",)


def check(look: Look) -> Iterator[Finding]:
    """`not-reaped` where no agent reaps; `expired-leases` where one should have by now, or nobody knows."""
    stranded = [queue for queue, policy in cared_for(look) if queue.expired and _is_late(look, queue, policy)]
    if not stranded:
        return
    total = sum(queue.expired for queue in stranded)
    oldest, always = oldest_expired(stranded), sum(queue.always_over for queue in stranded)
    evidence = {
        "expired": total,
        "always_over": always,
        "oldest_expired_seconds": None if oldest is None else round(oldest, 1),
        "queues": by_queue((queue.queue, queue.expired) for queue in stranded),
        "oldest": oldest_first((queue.queue, queue.oldest_expired_seconds) for queue in stranded),
    }
    who, for_long, them = (
        ("a worker that is gone", "for", "it") if total == 1 else ("workers that are gone", "for up to", "them")
    )
    held = f"{counted(total, 'job')} of {look.table} held by {who}"
    held += "" if oldest is None else f", {for_long} {format_duration(oldest)}"
    held += f", {counted(always, 'lease')} always over (-infinity)" if always else ""
    by_hand = reap_commands(look)
    if look.reaping is False:
        yield Finding(
            NOT_REAPED,
            Severity.CRITICAL,
            f"{held}, and no agent takes {them} back",
            evidence,
            f'{by_hand}\n# or for good, in pgq-ops.toml:\n[agent]\nmode = "manage"\n'
            f"[job_tables.{toml_key(look.table.name)}.reaper]",
        )
    else:
        late = "although an agent should have" if look.reaping else "and nobody has"
        yield Finding(EXPIRED_LEASES, Severity.CRITICAL, f"{held}, {late} taken {them} back", evidence, by_hand)


def _is_late(look: Look, queue: QueueLeases, policy: QueuePolicy) -> bool:
    """Whether the reaper has had its chance; at once where there is none, and not before this one has begun."""
    if look.reaping is False:
        return True
    since_start = math.inf if look.reaping_seconds is None else look.reaping_seconds
    age = math.inf if queue.always_over else queue.oldest_expired_seconds or 0.0
    return min(age, since_start) >= _patience(policy, known=look.reaping is not None)


def _patience(policy: QueuePolicy, *, known: bool) -> float:
    """How long after the lease's end, in seconds, the reaper has had its chance.

    An agent of which it is `known` that it reaps may still be settling.
    """
    reaper = policy.reaper
    settle = reaper.settle if known else timedelta()
    return (policy.lease.grace + settle + _PASSES * reaper.every).total_seconds()
