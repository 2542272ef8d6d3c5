"""Counts what a pass does, as it is committed: for its result, the metrics and the log."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops import logs, metrics
from pgq_ops.job_table.queue_labels import queue_label, queue_labels
from pgq_ops.tasks.reap_batch import MOST_IDS
from pgq_ops.tasks.reap_result import ReapResult

if TYPE_CHECKING:
    from pgq_ops.tasks.reap_batch import Group
    from pgq_ops.tasks.reap_memory import ReapMemory
    from pgq_ops.tasks.reap_sweep import Refused

REAPED = metrics.counter(
    "reaped_total",
    "Expired leases taken back, by what became of the job; conflict: the table's own constraint or trigger refused.",
    ("database", "job_table", "queue", "outcome"),
)
OUTCOMES = ("requeued", "dead_lettered", "conflict")

log = logs.get("reaper")


def declare(database: str, job_table: str) -> None:
    """Let the counters of the queues that are known so far begin at 0, so that the first reap is an increase."""
    labels = queue_labels(database, job_table)
    for queue in labels.known():
        for outcome in OUTCOMES:
            REAPED.labels(database, job_table, labels.label(queue), outcome)


@dataclass(slots=True)
class Tally:
    """The running count of one pass over one job table in one database."""

    database: str
    job_table: str
    memory: ReapMemory | None
    counts: Counter[str] = field(default_factory=Counter)
    ids: list[str] = field(default_factory=list)
    busy: list[str] = field(default_factory=list)
    mass_expired: int = 0
    example: str = ""

    def done(self, groups: list[Group]) -> None:
        """Count what a committed batch changed."""
        for group in groups:
            outcome = "dead_lettered" if group.buried else "requeued"
            self.counts[outcome] += group.jobs
            self._count(group.queue, outcome, group.jobs)
            self.ids += group.ids[: MOST_IDS - len(self.ids)]

    def refused(self, relation_oid: int, row: Refused) -> None:
        """Count a row that was not taken; a refused one is told of once a day, or each time without a memory."""
        self.counts["locked"] += row.locked
        if not row.locked:
            self.counts["conflicts"] += 1
            self.counts["swallowed"] += row.swallowed
            self.example = self.example or row.reason
            self._count(row.queue, "conflict", 1)
        tell = not row.locked if self.memory is None else self.memory.refused(relation_oid, row)
        if tell:
            log.warning("reaper.conflict", job_table=self.job_table, job=row.key, reason=row.reason)

    def _count(self, queue: str | None, outcome: str, number: int) -> None:
        label = queue_label(self.database, self.job_table, queue)
        REAPED.labels(self.database, self.job_table, label, outcome).inc(number)

    def result(self) -> ReapResult:
        """The pass so far; says so in the log if anything was done."""
        refusals = self.memory.refusals_now() if self.memory is not None else []
        result = ReapResult(
            requeued=self.counts["requeued"],
            dead_lettered=self.counts["dead_lettered"],
            conflicts=self.counts["conflicts"],
            swallowed=self.counts["swallowed"],
            locked=self.counts["locked"],
            busy=tuple(self.busy),
            mass_expired=self.mass_expired,
            example=self.example or next((refusal.reason for refusal in refusals), ""),
            still_refused=len(refusals),
            still_swallowed=sum(refusal.swallowed for refusal in refusals),
        )
        if result.requeued or result.dead_lettered:
            log.info(
                "reaper.reaped",
                job_table=self.job_table,
                requeued=result.requeued,
                dead_lettered=result.dead_lettered,
                jobs=",".join(self.ids) + (",..." if result.requeued + result.dead_lettered > len(self.ids) else ""),
            )
        return result
