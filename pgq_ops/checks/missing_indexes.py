"""No index leads to the running, or to the pending jobs: looks and reaping then read the table's whole history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.claim_toll import measured
from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.index_advice import pending_index, running_index
from pgq_ops.stats.index_support import Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look

NO_RUNNING_INDEX, NO_PENDING_INDEX = IDS = ("no-running-index", "no-pending-index")
NEEDS = ("indexes", "claim")


def check(look: Look) -> Iterator[Finding]:
    """A warning; for claims critical where they are slow now; info while the table is small and claims are cheap."""
    if look.support is None:
        return
    serving, tree = look.support.serving, look.support.tree
    severity = Severity.INFO if look.support.small else Severity.WARNING
    evidence = {"table": str(look.table), "small": look.support.small}
    if "running" in look.table.states and Question.RUNNING not in serving:
        yield Finding(
            NO_RUNNING_INDEX,
            severity,
            f"{look.table}: no index leads to the running jobs, so finding expired leases reads the whole table",
            evidence,
            running_index(look.table, tree),
        )
    lack = _lack(look) if "pending" in look.table.states else ""
    if lack:
        toll = measured(look)
        cost = f": claims {toll.in_words()}" if toll is not None and toll.costly else ""
        yield Finding(
            NO_PENDING_INDEX,
            severity_of_claims(look),
            f"{look.table}: no index leads to the pending jobs{lack}{cost}",
            {**evidence, **(toll.evidence() if toll is not None else {})},
            pending_index(look.table, tree),
        )


def severity_of_claims(look: Look) -> Severity:
    """How bad it is that no index fits the claim, by what claims cost now, and by what they will in a large table."""
    toll = measured(look)
    if toll is not None and toll.slow:
        return Severity.CRITICAL
    small = look.support is not None and look.support.small
    return Severity.INFO if small and not (toll is not None and toll.costly) else Severity.WARNING


def _lack(look: Look) -> str:
    """What there is not; where an index leads to them in another order, only if claims are costly by their sort."""
    serving = set(look.support.serving) if look.support is not None else set()
    if not serving & {Question.PENDING, Question.PENDING_IN_ORDER}:
        return ", so each claim reads the whole table"
    toll, plan = measured(look), look.claim.plan if look.claim is not None else None
    sorts = plan is not None and plan.sorts and toll is not None and toll.costly
    in_order = " in the order of claims, so each one sorts all that are due"
    return in_order if sorts and Question.PENDING_IN_ORDER not in serving else ""
