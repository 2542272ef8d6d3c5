"""Every check, in the order in which findings are shown within a severity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks import (
    autovacuum_off,
    blocked,
    claim_plan,
    claim_timeout,
    claims_costly,
    dead_letter_cascade,
    dead_rows,
    expired_leases,
    horizon_held,
    idle_in_transaction,
    index_bloat,
    leftover_indexes,
    long_transactions,
    missing_indexes,
    missing_leases,
    oldest_ready,
    ready_locked,
    reaping_trouble,
    stale_leases,
    statistics_lost,
    suspicious_leases,
    unknown_states,
    vacuum_outpaced,
    visibility,
    wraparound,
)
from pgq_ops.checks.finding import Severity
from pgq_ops.checks.one_chain import told_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Set as AbstractSet

    from pgq_ops.checks.finding import Finding
    from pgq_ops.checks.look import Look

_MODULES = (
    blocked,
    claims_costly,
    expired_leases,
    stale_leases,
    missing_leases,
    oldest_ready,
    claim_timeout,
    ready_locked,
    claim_plan,
    horizon_held,
    dead_rows,
    autovacuum_off,
    vacuum_outpaced,
    wraparound,
    statistics_lost,
    idle_in_transaction,
    long_transactions,
    reaping_trouble,
    suspicious_leases,
    missing_indexes,
    leftover_indexes,
    index_bloat,
    dead_letter_cascade,
    unknown_states,
    visibility,
)
CHECKS: tuple[Callable[[Look], Iterable[Finding]], ...] = tuple(module.check for module in _MODULES)
IDS = frozenset(name for module in _MODULES for name in module.IDS)
"""Every finding there is; each has its page in docs/findings/."""
NEEDS = {name: frozenset[str](module.NEEDS) for module in _MODULES for name in module.IDS}
"""By what each is judged, as the probes that read it: without one of them it may be there or not."""

_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def findings_of(look: Look) -> tuple[Finding, ...]:
    """What is wrong by one look, the worst first."""
    found = told_once([finding for check in CHECKS for finding in check(look)])
    return tuple(sorted(found, key=lambda finding: _RANK[finding.severity]))


def unjudged_by(probes: AbstractSet[str]) -> frozenset[str]:
    """What cannot be told to be gone where only these probes could look."""
    return frozenset(name for name, needs in NEEDS.items() if not needs <= probes)
