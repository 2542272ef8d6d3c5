"""Leases that ran out so long ago that the agent leaves the jobs to a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.pasted_sql import rows_where
from pgq_ops.checks.policies import cared_for
from pgq_ops.checks.wording import by_queue, counted, oldest_first, reap_commands
from pgq_ops.job_table.leases import LeaseTerms
from pgq_ops.job_table.quoting import all_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look
    from pgq_ops.job_table.table import JobTable

(STALE_LEASES,) = IDS = ("stale-leases",)
NEEDS = ("leases",)


def check(look: Look) -> Iterator[Finding]:
    """Critical: such a job stays where it is until somebody decides."""
    stale = [queue for queue, _ in cared_for(look) if queue.stale]
    if stale:
        total = sum(queue.stale for queue in stale)
        them = "it" if total == 1 else "them"
        yield Finding(
            STALE_LEASES,
            Severity.CRITICAL,
            f"{counted(total, 'job')} of {look.table} expired longer ago than reaper.max_expired_age; the agent leaves"
            f" {them} alone, as running {them} again so late may do harm",
            {
                "stale": total,
                "queues": by_queue((queue.queue, queue.stale) for queue in stale),
                "oldest": oldest_first((queue.queue, queue.oldest_stale_seconds) for queue in stale),
            },
            f"-- which ones, the oldest first:\n{_rows(look.table)}\n-- then in a shell, first what would be done:\n"
            f"{reap_commands(look, '--include-stale --dry-run', '--include-stale')}",
        )


def _rows(table: JobTable) -> str:
    terms = LeaseTerms(table, table.policies)
    end = terms.expires_at()
    return rows_where(table, all_of([table.is_state("running"), terms.is_stale()]), "owner", end, order=end)
