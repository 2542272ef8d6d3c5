"""Jobs that are due and wait longer than was promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.pasted_sql import rows_where
from pgq_ops.checks.policies import policy_of
from pgq_ops.job_table.queue_labels import shown
from pgq_ops.job_table.quoting import all_of
from pgq_ops.stats import job_sample
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import sql as composing

    from pgq_ops.checks.look import Look
    from pgq_ops.job_table.table import JobTable

# Evidence names the queues that wait longest.
_MOST_QUEUES = 10

(OLDEST_READY_SLO,) = IDS = ("oldest-ready-slo",)
NEEDS = ("jobs",)


def check(look: Look) -> Iterator[Finding]:
    """Critical; a warning where the age is only bounded."""
    late = []
    for queue in look.depths.queues if look.depths is not None else ():
        promised = policy_of(look.table, queue.queue).slo.oldest_ready.total_seconds()
        if queue.oldest_ready is not None and queue.oldest_ready.seconds > promised:
            late.append((queue.oldest_ready.seconds, queue.oldest_ready.exact, promised, shown(queue.queue)))
    if not late:
        return
    late.sort(reverse=True)
    age, _, promised, name = late[0]
    exact = any(known for _, known, _, _ in late)
    yield Finding(
        OLDEST_READY_SLO,
        Severity.CRITICAL if exact else Severity.WARNING,
        f"a ready job of {look.table}, queue {name}, has been waiting for {format_duration(age)}"
        f"{'' if exact else ' at most'}; promised is {format_duration(promised)}",
        {
            "oldest_ready_seconds": {queue: round(seconds, 1) for seconds, _, _, queue in late[:_MOST_QUEUES]},
            "slo_seconds": {queue: seconds for _, _, seconds, queue in late[:_MOST_QUEUES]},
            "exact": exact,
        },
        rows_where(
            look.table,
            all_of([look.table.is_state("pending"), look.table.is_due()]),
            *("queue", "available_at", "created_at"),
            order=_waiting_since(look.table),
        ),
    )


def _waiting_since(table: JobTable) -> composing.Composable:
    """The column alone, so that the claim's index gives the order, unless another has to stand in for it."""
    available = table.fields.get("available_at")
    if available is not None and available.not_null:
        return available.value
    return job_sample.since(table, "pending")
