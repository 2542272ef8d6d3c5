"""Leases that are alive and should not be: extended for too long, or ending further ahead than any lease can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.pasted_sql import rows_where
from pgq_ops.checks.wording import by_queue, counted
from pgq_ops.job_table.leases import LeaseTerms
from pgq_ops.job_table.quoting import all_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look
    from pgq_ops.job_table.table import JobTable

_WAY_OUT = """\
-- set the clocks of these owners; or in pgq-ops.toml database.timezone to the zone that the workers write in (or the
-- column's unit); what is written already: correct it by hand, or let the workers renew it
"""
_NOT = composing.SQL("({}) IS NOT TRUE")

OVERLONG_LEASES, FUTURE_LEASES = IDS = ("overlong-leases", "future-leases")


def check(look: Look) -> Iterator[Finding]:
    """Warnings `overlong-leases` and `future-leases`; the remedy is a query for the jobs, whose workers need a look."""
    if look.leases is None:
        return
    terms = LeaseTerms(look.table, look.table.policies)
    for name, condition, predicate, what in (
        (
            OVERLONG_LEASES,
            "overlong",
            terms.is_overlong(),
            "kept alive longer than lease.max_runtime: their workers may hang",
        ),
        (
            FUTURE_LEASES,
            "future",
            terms.is_future(),
            f"{_too_far(look.table)}, so none is taken back in time: a clock is wrong, or database.timezone",
        ),
    ):
        total = look.leases.total(condition)
        if total:
            yield Finding(
                name,
                Severity.WARNING,
                f"{counted(total, 'lease')} of {look.table} {what}",
                {
                    condition: total,
                    "queues": by_queue((one.queue, getattr(one, condition)) for one in look.leases.queues),
                },
                (_WAY_OUT if name == FUTURE_LEASES else "")
                + rows_where(
                    look.table,
                    all_of([look.table.is_state("running"), predicate, _NOT.format(terms.ran_out())]),
                    *("owner", "leased_at", "heartbeat_at", "lease_expires_at"),
                ),
            )


def _too_far(table: JobTable) -> str:
    explicit = "lease_expires_at" in table.fields
    return "ending further ahead than any lease can" if explicit else "begun by a heartbeat or claim yet to come"
