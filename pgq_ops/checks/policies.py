"""Which policy governs a queue, and which of a look's queues the reaper is meant to care for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look
    from pgq_ops.config.policy import QueuePolicy
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.leases import QueueLeases


def policy_of(table: JobTable, queue: str | None) -> QueuePolicy:
    """The queue's own policy, else the default one."""
    own = [policy for policy in table.policies if policy.queue is not None and policy.queue == queue]
    return own[0] if own else table.policies[0]


def cared_for(look: Look) -> Iterator[tuple[QueueLeases, QueuePolicy]]:
    """The leases of the queues that did not opt out of reaping."""
    for queue in look.leases.queues if look.leases is not None else ():
        policy = policy_of(look.table, queue.queue)
        if policy.reaper.enabled:
            yield queue, policy
