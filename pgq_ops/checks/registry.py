"""Every check, in the order in which findings are shown within a severity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks import (
    expired_leases,
    missing_indexes,
    missing_leases,
    oldest_ready,
    reaping_trouble,
    stale_leases,
    suspicious_leases,
    unknown_states,
)
from pgq_ops.checks.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pgq_ops.checks.finding import Finding
    from pgq_ops.checks.look import Look

CHECKS: tuple[Callable[[Look], Iterable[Finding]], ...] = (
    expired_leases.check,
    stale_leases.check,
    missing_leases.check,
    oldest_ready.check,
    reaping_trouble.check,
    suspicious_leases.check,
    missing_indexes.check,
    unknown_states.check,
)

_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def findings_of(look: Look) -> tuple[Finding, ...]:
    """What is wrong by one look, the worst first."""
    found = [finding for check in CHECKS for finding in check(look)]
    return tuple(sorted(found, key=lambda finding: _RANK[finding.severity]))
