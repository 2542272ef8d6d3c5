"""What was promised for each queue, so that alert rules can compare without being edited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.metrics import Family

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.metrics import Sample
    from pgq_ops.probes.memory import Memory

OLDEST_READY = Family(
    "slo_oldest_ready_seconds",
    "How long a ready job may wait (slo.oldest_ready of the config).",
    ("database", "job_table", "queue"),
)


class Slo:
    """The probe. It asks the database nothing."""

    name = "slo"
    families = (OLDEST_READY,)
    every_seconds = 0.0

    def collect(self, connection: Connection, table: JobTable, memory: Memory) -> Iterable[Sample]:
        """Say the promise of each known queue; queues that share a label are under the default one."""
        del connection
        promised = {policy.queue: policy.slo.oldest_ready.total_seconds() for policy in table.policies}
        labels = {memory.labels.label(queue): queue for queue in memory.labels.known()}
        return [
            OLDEST_READY.sample(promised.get(queue, promised[None]), memory.database, table.name, label)
            for label, queue in labels.items()
        ]
