"""Jobs by queue and state, and how long the oldest have been waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.job_table.queue_labels import ALL_QUEUES
from pgq_ops.metrics import Family
from pgq_ops.stats import depth, queue_depths
from pgq_ops.stats.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.metrics import Sample
    from pgq_ops.probes.memory import Memory
    from pgq_ops.stats.depth import Count, Depths

_QUEUE = ("database", "job_table", "queue")

JOBS = Family("jobs", "Jobs in the table, dead-letter table included.", (*_QUEUE, "state"))
JOBS_EXACT = Family("jobs_exact", "1 where pgqops_jobs was counted, 0 where it is an estimate.", (*_QUEUE, "state"))
OLDEST_READY = Family(
    "oldest_ready_age_seconds", "How long the oldest ready job has been due; 0 when nothing is ready.", _QUEUE
)
OLDEST_READY_EXACT = Family(
    "oldest_ready_exact", "1 where the oldest ready age was read, 0 where it is only bounded.", _QUEUE
)
OLDEST_DEAD = Family(
    "oldest_dead_age_seconds",
    "How long the oldest dead job has been dead, by finished_at; since it was created where that is not mapped or not"
    " known. 0 when none is dead. Of more than 10,000 only the first are looked at.",
    _QUEUE,
)

# A look that was cut off would be again for as long as whatever keeps dead rows in the index goes on.
_AFTER_TIMEOUT_SECONDS = 60.0
# By far the most of them take a few milliseconds. One after another that take so long are no chance: dead rows are in
# the way, as few as keep the look within its timeout.
_DEAR_SECONDS, _DEAR_LOOKS, _AFTER_DEAR_SECONDS = 0.05, 2, 120.0
# Numbers beyond the cap are the indexes' as of their last vacuum, so it matters little when exactly they fall below it.
_CROWDED_SECONDS = 60.0


class Jobs:
    """The probe."""

    name = "jobs"
    families = (JOBS, JOBS_EXACT, OLDEST_READY, OLDEST_READY_EXACT, OLDEST_DEAD)
    every_seconds = 0.0

    def collect(self, connection: Connection, table: JobTable, memory: Memory) -> Iterable[Sample]:
        """Look at the jobs; leaves the rows in the memory."""
        support = memory.supported(connection, table)
        remembered = Remembered(
            memory.labels.known(),
            memory.watermark,
            from_watermark=memory.now() < memory.plain_look_at,
            one_by_one=memory.now() < memory.one_by_one_until,
            crowded=memory.crowded if memory.now() < memory.crowded_until else frozenset(),
        )
        began = memory.now()
        depths = queue_depths.read(connection, table, support, remembered)
        if not remembered.from_watermark:
            memory.dear_looks = memory.dear_looks + 1 if memory.now() - began > _DEAR_SECONDS else 0
            if depths.timed_out:
                memory.plain_look_at = memory.now() + _AFTER_TIMEOUT_SECONDS
            elif memory.dear_looks >= _DEAR_LOOKS and depths.watermark is not None:
                memory.plain_look_at, memory.dear_looks = memory.now() + _AFTER_DEAR_SECONDS, 0
        if depths.states_cut_off and not remembered.one_by_one:
            memory.one_by_one_until = memory.now() + _AFTER_TIMEOUT_SECONDS
        if not remembered.crowded:
            memory.crowded_until = memory.now() + _CROWDED_SECONDS
        memory.crowded = depths.crowded
        memory.watermark = depths.watermark or memory.watermark
        memory.depths = depths
        memory.labels.admit({queue.queue: queue.active for queue in depths.queues})
        return list(_samples(depths, table.name, memory))


def _samples(depths: Depths, name: str, memory: Memory) -> Iterator[Sample]:
    for label, queue in depth.by_label(depths.queues, memory.labels.label).items():
        labels = (memory.database, name, label)
        for state, count in queue.counts.items():
            yield from _count(count, *labels, state)
        if queue.oldest_ready is not None:
            yield OLDEST_READY.sample(queue.oldest_ready.seconds, *labels)
            yield OLDEST_READY_EXACT.sample(queue.oldest_ready.exact, *labels)
        if queue.oldest_dead_seconds is not None:
            yield OLDEST_DEAD.sample(queue.oldest_dead_seconds, *labels)
    for state, count in depths.all_queues.items():
        yield from _count(count, memory.database, name, ALL_QUEUES, state)


def _count(count: Count, *labels: str) -> Iterator[Sample]:
    yield JOBS.sample(count.value, *labels)
    yield JOBS_EXACT.sample(count.exact, *labels)
