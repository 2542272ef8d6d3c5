"""Tables that nobody freezes in time: at the end of it the whole server takes no more writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.accountable import accountable
from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.leaf_words import numbers, vacuum
from pgq_ops.checks.remedy_steps import steps
from pgq_ops.checks.session_words import MOST_NAMED
from pgq_ops.checks.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look
    from pgq_ops.stats.table_health import LeafHealth

# PostgreSQL comes unasked at autovacuum_freeze_max_age. A quarter later (50 million transactions by default, hours of
# a busy server) it should be done. From 1.6 billion on (vacuum_failsafe_age) it drops everything else for it.
_LATE, _FAILSAFE_AGE = 1.25, 1_600_000_000
# Halfway between where it is forced and where writes stop, some 2.1 billion: then somebody has to act.
_URGENT_AGE = 1_200_000_000

(WRAPAROUND,) = IDS = ("wraparound",)
NEEDS = ("table",)


def check(look: Look) -> Iterator[Finding]:
    """Warning where a forced autovacuum is late, critical from 1.2 billion on; of transactions or of multixacts."""
    late = {leaf: ages for leaf in (look.health.leaves if look.health is not None else ()) if (ages := _late(leaf))}
    if not late:
        return
    old = sorted(late, key=lambda leaf: -max(age for age, _, _ in late[leaf]))
    worst = old[0]
    age, forced_at, unit = max(late[worst])
    urgent = any(age > _URGENT_AGE for ages in late.values() for age, _, _ in ages)
    more = f"; {counted(len(old) - 1, 'other partition')} likewise" if len(old) > 1 else ""
    running = "; a vacuum is at work there" if worst.vacuum_running else ""
    yield Finding(
        WRAPAROUND,
        Severity.CRITICAL if urgent else Severity.WARNING,
        f"{worst.relation} has not been frozen for {age:,} {unit}, though autovacuum is forced at {forced_at:,}: the"
        f" server stops all writes at some 2.1 billion{running}{more}",
        {
            "xid_ages": numbers(old, lambda leaf: leaf.xid_age),
            "mxid_ages": numbers(old, lambda leaf: leaf.mxid_age),
            "freeze_max_age": worst.settings.freeze_max_age,
            "multixact_freeze_max_age": worst.settings.multixact_freeze_max_age,
        },
        _remedy(look, old),
    )


def _late(leaf: LeafHealth) -> list[tuple[int, int, str]]:
    """The ages that are beyond it, each with the one that forces an autovacuum, and what is counted."""
    ages = (
        (leaf.xid_age, leaf.settings.freeze_max_age, "transactions"),
        (leaf.mxid_age, leaf.settings.multixact_freeze_max_age, "multixacts"),
    )
    return [one for one in ages if one[0] > _late_at(one[1])]


def _late_at(forced_at: int) -> float:
    return min(_LATE * forced_at, _FAILSAFE_AGE)


def _remedy(look: Look, leaves: list[LeafHealth]) -> str:
    """VACUUM freezes nothing that somebody's snapshot may still see as it was."""
    command = vacuum(look, leaves, "FREEZE", "VERBOSE")
    keeping = [
        holder
        for holder in accountable(look)
        if any(holder.xid_age > _late_at(leaf.settings.freeze_max_age) for leaf in leaves)
    ]
    return steps(*dict.fromkeys(one.remedy for one in keeping[:MOST_NAMED]), command)
