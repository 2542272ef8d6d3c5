"""Running jobs without any lease: whether their worker lives cannot be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.pasted_sql import rows_where
from pgq_ops.checks.policies import cared_for
from pgq_ops.checks.wording import by_queue, counted, oldest_first
from pgq_ops.job_table.leases import LeaseTerms
from pgq_ops.job_table.quoting import all_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look

(MISSING_LEASES,) = IDS = ("missing-leases",)
NEEDS = ("leases",)


def check(look: Look) -> Iterator[Finding]:
    """A warning, for queues in which nothing will ever take such jobs back."""
    dated = any(name in look.table.fields for name in ("leased_at", "created_at"))
    missing = [
        queue
        for queue, policy in cared_for(look)
        if queue.missing and not (dated and policy.lease.missing_after is not None)
    ]
    if missing:
        total = sum(queue.missing for queue in missing)
        them = "it" if total == 1 else "them"
        terms = LeaseTerms(look.table, look.table.policies)
        rows = all_of([look.table.is_state("running"), terms.is_missing()])
        way_out = f"lease.missing_after has {them} reaped" if dated else "map created_at and set lease.missing_after"
        yield Finding(
            MISSING_LEASES,
            Severity.WARNING,
            f"{counted(total, 'running job')} of {look.table} without a lease; nothing takes {them} back ({way_out})",
            {
                "missing": total,
                "queues": by_queue((queue.queue, queue.missing) for queue in missing),
                "oldest": oldest_first((queue.queue, queue.oldest_missing_seconds) for queue in missing),
            },
            rows_where(
                look.table, rows, "owner", "leased_at", "created_at", order=terms.claimed_at() if dated else None
            ),
        )
