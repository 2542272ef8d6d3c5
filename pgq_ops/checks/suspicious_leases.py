"""Leases that are alive and should not be: extended for too long, or ending further ahead than any lease can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.pasted_sql import rows_where
from pgq_ops.checks.wording import by_queue, counted, oldest_first
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
_FURTHEST = composing.SQL("{} DESC")

OVERLONG_LEASES, FUTURE_LEASES = IDS = ("overlong-leases", "future-leases")
NEEDS = ("leases",)


def check(look: Look) -> Iterator[Finding]:
    """Warnings `overlong-leases` and `future-leases`; the remedy is a query for the jobs, whose workers need a look."""
    if look.leases is None:
        return
    terms = LeaseTerms(look.table, look.table.policies)
    overlong = [one for one in look.leases.queues if one.overlong]
    if overlong:
        total = sum(one.overlong for one in overlong)
        yield Finding(
            OVERLONG_LEASES,
            Severity.WARNING,
            f"{counted(total, 'lease')} of {look.table} kept alive longer than lease.max_runtime:"
            f" {'its worker' if total == 1 else 'their workers'} may hang",
            {
                "overlong": total,
                "queues": by_queue((one.queue, one.overlong) for one in overlong),
                "oldest": oldest_first((one.queue, one.oldest_overlong_seconds) for one in overlong),
            },
            _jobs(look.table, terms, terms.is_overlong(), terms.claimed_at()),
        )
    future = [one for one in look.leases.queues if one.future]
    if future:
        total = sum(one.future for one in future)
        yield Finding(
            FUTURE_LEASES,
            Severity.WARNING,
            f"{counted(total, 'lease')} of {look.table} {_too_far(look.table)}, so none is taken back in time: a clock"
            " is wrong, or database.timezone",
            {"future": total, "queues": by_queue((one.queue, one.future) for one in future)},
            _WAY_OUT + _jobs(look.table, terms, terms.is_future(), _FURTHEST.format(terms.expires_at())),
        )


def _jobs(table: JobTable, terms: LeaseTerms, which: composing.Composable, order: composing.Composable) -> str:
    """The query for them: live ones only."""
    condition = all_of([table.is_state("running"), which, _NOT.format(terms.ran_out())])
    return rows_where(table, condition, "owner", "leased_at", "heartbeat_at", "lease_expires_at", order=order)


def _too_far(table: JobTable) -> str:
    explicit = "lease_expires_at" in table.fields
    return "ending further ahead than any lease can" if explicit else "begun by a heartbeat or claim yet to come"
