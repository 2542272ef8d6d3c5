"""How the leases of running jobs stand."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from pgq_ops.metrics import Family
from pgq_ops.stats import leases
from pgq_ops.stats.index_support import Question

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.metrics import Sample
    from pgq_ops.probes.memory import Memory
    from pgq_ops.stats.leases import QueueLeases

_QUEUE = ("database", "job_table", "queue")
CONDITIONS = ("live", "expired", "stale", "missing", "overlong", "future")

LEASES = Family(
    "leases",
    "Running jobs by how their lease stands: live, expired, stale (expired too long ago to be reaped unasked) or"
    " missing. overlong and future ones are live too. At most 10,001 are looked at.",
    (*_QUEUE, "condition"),
)
OLDEST_EXPIRED = Family(
    "oldest_expired_lease_seconds",
    "How long ago the oldest expired lease ran out, stale ones left out; 0 without, absent for -infinity alone.",
    _QUEUE,
)


class Leases:
    """The probe. It has nothing to say where the table has no lease, or no index leads to the running jobs."""

    name = "leases"
    families = (LEASES, OLDEST_EXPIRED)
    every_seconds = 0.0

    def collect(self, connection: Connection, table: JobTable, memory: Memory) -> Iterable[Sample]:
        """Look at the running jobs; leaves the rows in the memory."""
        memory.leases = None
        running = table.has_lease and "running" in table.states
        if not running:
            return []
        support = memory.supported(connection, table)
        if not support.is_cheap(Question.RUNNING):
            return []
        memory.leases = leases.read(connection, table, kept=support.leases)
        memory.labels.admit({queue.queue: queue.running for queue in memory.leases.queues})
        return list(_samples(memory.leases.queues, table.name, memory))


def _samples(queues: Iterable[QueueLeases], name: str, memory: Memory) -> Iterator[Sample]:
    grouped: dict[str, list[QueueLeases]] = defaultdict(list)
    for queue in memory.labels.known():
        grouped[memory.labels.label(queue)] = []
    for one in queues:
        grouped[memory.labels.label(one.queue)].append(one)
    for label, members in grouped.items():
        labels = (memory.database, name, label)
        for condition in CONDITIONS:
            yield LEASES.sample(sum(getattr(one, condition) for one in members), *labels, condition)
        oldest = leases.oldest_expired(members)
        if oldest is not None:
            yield OLDEST_EXPIRED.sample(oldest, *labels)
