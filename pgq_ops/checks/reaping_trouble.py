"""What the last reaping pass met: leases that expire in a mass, and jobs that cannot be taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.pasted_sql import as_regclass, rows_where
from pgq_ops.checks.wording import command, counted
from pgq_ops.job_table.leases import LeaseTerms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look

MASS_EXPIRY, REAP_CONFLICTS, REAPER_SWALLOWED = IDS = ("mass-expiry", "reap-conflicts", "reaper-swallowed")
NEEDS: tuple[str, ...] = ()


def check(look: Look) -> Iterator[Finding]:
    """`mass-expiry` (the agent goes slowly), `reap-conflicts` and `reaper-swallowed` (the jobs stay stuck)."""
    table, news = look.table, look.news
    if news.mass_expired:
        yield Finding(
            MASS_EXPIRY,
            Severity.WARNING,
            f"{counted(news.mass_expired, 'lease')} of {table} expired at once, more than reaper.mass_expiry allows:"
            " the agent takes few jobs back at first and twice as many each pass",
            {"expired": news.mass_expired},
            "# once it is sure that the workers are gone, all at once:\n"
            + command("pgq-ops", "reap", operands=[table.name]),
        )
    refused = news.conflicts - news.swallowed
    if refused > 0:
        expired = LeaseTerms(table, table.policies).is_reapable(include_stale=True)
        yield Finding(
            REAP_CONFLICTS,
            Severity.CRITICAL,
            f"{counted(refused, 'job')} of {table} cannot be taken back: a constraint or trigger of the table refuses",
            {"conflicts": refused, "example": news.example},
            rows_where(table, expired, "queue", "owner", "attempts"),
        )
    if news.swallowed > 0:
        relation = as_regclass(table.relation)
        yield Finding(
            REAPER_SWALLOWED,
            Severity.CRITICAL,
            f"{counted(news.swallowed, 'job')} of {table} could not be taken back: a trigger discarded the change"
            " without an error, as it would discard your workers' changes",
            {"swallowed": news.swallowed},
            f"SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger"  # noqa: S608  # text for a person; quoted above
            f" WHERE tgrelid = {relation} AND NOT tgisinternal;",
        )
