"""Transactions that go on for long, and are at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.session_words import evidence, lasting, named, others, remedies
from pgq_ops.checks.victims import only_waiting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look

(LONG_TRANSACTIONS,) = IDS = ("long-transactions",)
NEEDS = ("transactions",)


def check(look: Look) -> Iterator[Finding]:
    """Warning: dead rows pile up meanwhile.

    Those that have been idle for as long are `idle-in-transaction`; who is behind them for a lock, `blocked-sessions`.
    """
    seen, limit = look.database.transactions, look.database.warn_after_seconds
    if seen is None or not seen.visible:
        return
    lasting_long = seen.longer_than(limit)
    told = {*seen.idle_for(limit), *only_waiting(look, lasting_long)}
    long = [one for one in lasting_long if one not in told]
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
