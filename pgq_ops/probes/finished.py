"""How many jobs finish: counted as they appear behind an index on `finished_at`, absent without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops.metrics import Family
from pgq_ops.stats import bounded, finished_jobs
from pgq_ops.stats.index_support import Question

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.metrics import Sample
    from pgq_ops.probes.memory import Memory

FINISHED = Family(
    "finished_jobs_total",
    "Jobs that finished since the agent began to look, by final state. What commits more than 5 s late is missed.",
    ("database", "job_table", "queue", "state"),
    type="counter",
)

# finished_at is often the transaction's start: so much later it has committed, or is missed.
_LAG_SECONDS = 5.0
# After a pause (the database was away, another agent led) no more than this is caught up with at once.
_LONGEST_SECONDS = 600.0


class Finished:
    """The probe."""

    name = "finished"
    families = (FINISHED,)
    every_seconds = 0.0

    def collect(self, connection: Connection, table: JobTable, memory: Memory) -> Iterable[Sample]:
        """Count the jobs that finished since the last look."""
        if Question.FINISHED not in memory.supported(connection, table).serving:
            memory.finished_until = None
            return []
        since = memory.finished_until
        try:
            rows, until = finished_jobs.read(connection, table, since, lag=_LAG_SECONDS, longest=_LONGEST_SECONDS)
        except errors.QueryCanceled:
            # A stretch that takes too long is lost rather than tried for ever.
            with bounded.transaction(connection, table) as now:
                memory.finished_until = now - _LAG_SECONDS
            raise
        memory.finished_until = until
        for row in rows:
            key = (memory.labels.label(row.queue), row.state)
            memory.finished[key] = memory.finished.get(key, 0) + row.jobs
        for queue in memory.labels.known():
            for state in finished_jobs.FINAL_STATES:
                if state in table.states:
                    memory.finished.setdefault((memory.labels.label(queue), state), 0)
        return [
            FINISHED.sample(jobs, memory.database, table.name, *key) for key, jobs in sorted(memory.finished.items())
        ]
