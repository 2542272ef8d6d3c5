"""Rows die faster than autovacuum can come by, whatever the table's settings are, and the agent runs no VACUUM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.leaf_words import MOST_NAMED
from pgq_ops.checks.wording import counted
from pgq_ops.config.writing import toml_key
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look
    from pgq_ops.stats.vacuum_reach import Reach

(VACUUM_OUTPACED,) = IDS = ("vacuum-outpaced",)
NEEDS: tuple[str, ...] = ()


def check(look: Look) -> Iterator[Finding]:
    """Warning: claims step over more dead rows than they can bear for a part of each minute."""
    news = look.upkeep
    if not news.outpaced or (news.acts and not news.refused):
        return
    worst, *others = news.outpaced
    more = f"; {counted(len(others), 'other partition')} likewise" if others else ""
    nap, interval = worst.naptime_seconds, round(worst.interval_seconds, 1)
    may_not = "; the agent may not run VACUUM there" if news.refused else ""
    yield Finding(
        VACUUM_OUTPACED,
        Severity.WARNING,
        f"{worst.dying:,.0f} rows of {worst.leaf.relation} die each second, so that {worst.budget_rows:,}, which claims"
        f" can bear, are dead after {format_duration(interval)}; autovacuum comes each {format_duration(nap)} at most,"
        f" which no setting of the table changes{more}{may_not}",
        {
            "dying_per_second": {str(one.leaf.relation): round(one.dying, 1) for one in news.outpaced[:MOST_NAMED]},
            "budget_rows": worst.budget_rows,
            "autovacuum_naptime_seconds": nap,
        },
        _remedy(look, worst),
    )


def _remedy(look: Look, worst: Reach) -> str:
    """The GRANT where the agent is told to do it; else either of two ways."""
    if look.upkeep.refused:
        return look.upkeep.refused.rpartition("\n")[2].strip()
    lines = [
        "# the agent runs VACUUM itself, with this in pgq-ops.toml:",
        f"[job_tables.{toml_key(look.table.name)}.autovacuum]",
        'vacuum = "when-needed"',
    ]
    if worst.naptime_wanted is not None:
        lines += [
            "-- or, in psql, autovacuum comes by more often, in all databases:",
            f"ALTER SYSTEM SET autovacuum_naptime = '{worst.naptime_wanted}s';",
            "SELECT pg_reload_conf();",
        ]
    return "\n".join(lines)
