"""Transactions that go on for long, and are at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.session_words import evidence, lasting, named, others, remedies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look

(LONG_TRANSACTIONS,) = IDS = ("long-transactions",)
NEEDS = ("transactions",)


def check(look: Look) -> Iterator[Finding]:
    """Warning: dead rows pile up meanwhile. Those that have been idle for as long are `idle-in-transaction`."""
    seen, limit = look.database.transactions, look.database.warn_after_seconds
    if seen is None or not seen.visible:
        return
    idle = set(seen.idle_for(limit))
    long = [one for one in seen.longer_than(limit) if one not in idle]
    if not long:
        return
    worst = long[0]
    held = ", and holds vacuum back" if worst.holds_vacuum else ""
    yield Finding(
        LONG_TRANSACTIONS,
        Severity.WARNING,
        f"{named(worst)} has had a transaction open{lasting(worst.seconds)}{held}{others(long, limit)}",
        {"long": len(long), "holding_vacuum": sum(one.holds_vacuum for one in long), "sessions": evidence(long)},
        remedies(long),
    )
