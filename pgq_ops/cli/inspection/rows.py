"""The queues of a look as rows, the worst first, as the screen and `--json` show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops.checks.policies import policy_of
from pgq_ops.job_table.queue_labels import ALL_QUEUES, shown
from pgq_ops.stats.depth import Count, by_label

if TYPE_CHECKING:
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.depth import Age, Depths

STATES = ("scheduled", "ready", "running", "done", "dead")
OTHER_STATES = ("blocked", "cancelled", "unknown")


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One queue. A state without a count is not known for it.

    `promised_seconds` is how long its jobs may wait; None for `(all)`, which stands for no single queue.
    """

    queue: str
    counts: Mapping[str, Count]
    oldest_ready: Age | None = None
    promised_seconds: float | None = None

    @property
    def lateness(self) -> float:
        """How many times over the promise the oldest ready job has waited; 0 within it."""
        if self.oldest_ready is None or not self.promised_seconds:
            return 0.0
        ratio = self.oldest_ready.seconds / self.promised_seconds
        return ratio if ratio > 1 else 0.0

    def jobs(self, state: str) -> int:
        """The jobs in a state as far as known."""
        return self.counts[state].value if state in self.counts else 0


def queue_rows(table: JobTable, depths: Depths) -> list[QueueRow]:
    """One row a queue: those whose jobs wait longest beyond their promise first, then those with the most to do.

    What could be estimated only for all queues together is in a last row, `(all)`; where the table has no queue
    column that is the one queue's own.
    """
    whole = depths.all_queues
    rows = []
    for name, queue in by_label(depths.queues, shown).items():
        counts = dict(queue.counts)
        if "queue" not in table.fields:
            counts |= {state: count + counts.get(state, Count(0)) for state, count in whole.items()}
        promised = policy_of(table, queue.queue).slo.oldest_ready.total_seconds()
        rows.append(QueueRow(name, counts, queue.oldest_ready, promised))
    rows.sort(
        key=lambda row: (-row.lateness, *(-row.jobs(state) for state in ("ready", "running", "scheduled")), row.queue)
    )
    if whole and "queue" in table.fields:
        rows.append(QueueRow(ALL_QUEUES, whole))
    return rows
