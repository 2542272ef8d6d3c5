"""Sessions that keep a transaction open and do nothing in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.session_words import evidence, lasting, named, others, remedies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look

(IDLE_IN_TRANSACTION,) = IDS = ("idle-in-transaction",)
NEEDS = ("transactions",)


def check(look: Look) -> Iterator[Finding]:
    """Warning: their locks stay, and VACUUM keeps dead rows for those that have written or hold a snapshot."""
    seen, limit = look.database.transactions, look.database.warn_after_seconds
    if seen is None or not seen.visible:
        return
    idle = sorted(seen.idle_for(limit), key=lambda one: not one.holds_vacuum)  # stable: the longest idle first in each
    if not idle:
        return
    worst = idle[0]
    holding = sum(one.holds_vacuum for one in idle)
    held = "and holds vacuum back" if holding else "and keeps its locks, though it holds no vacuum back"
    yield Finding(
        IDLE_IN_TRANSACTION,
        Severity.WARNING,
        f"{named(worst)} has been idle in a transaction{lasting(worst.idle_seconds)} {held}{others(idle, limit)}",
        {"idle": len(idle), "holding_vacuum": holding, "sessions": evidence(idle)},
        remedies(idle),
    )
