"""Finding the next job takes longer than a look may: claims are slow, and by how much cannot even be measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.accountable import accountable
from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.index_advice import pending_index
from pgq_ops.checks.left_rows import are_let_go
from pgq_ops.checks.pasted_sql import plain
from pgq_ops.checks.remedy_steps import steps
from pgq_ops.stats.index_support import Question
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look

(CLAIM_TIMEOUT,) = IDS = ("claim-timeout",)
NEEDS = ("claim",)


def check(look: Look) -> Iterator[Finding]:
    """Critical."""
    claim, best = look.claim, look.best_claim
    if claim is None or not claim.timed_out:
        return
    how = f" ({claim.planned})" if claim.planned else ""
    before, healthy = "", None
    if best is not None and best.plan is not None:
        healthy = {"buffers": best.buffers, "plan": best.plan.node}
        before = f"; at best it read {best.buffers:,} pages ({best.plan.node})"
    yield Finding(
        CLAIM_TIMEOUT,
        Severity.CRITICAL,
        f"finding the next job of {look.table} takes longer than {format_duration(claim.timeout_seconds)}{how}{before}",
        {"timeout_seconds": claim.timeout_seconds, "plan": claim.planned or None, "healthy": healthy},
        _remedy(look),
    )


def _remedy(look: Look) -> str:
    """The missing index; else who keeps VACUUM from the dead rows in the way, and then VACUUM."""
    support = look.support
    if support is not None and not {Question.PENDING, Question.PENDING_IN_ORDER} & set(support.serving):
        return pending_index(look.table, support.tree)
    limit = look.database.warn_after_seconds
    lasting = [holder.remedy for holder in accountable(look) if holder.seconds is None or holder.seconds >= limit]
    if look.health is not None and any(are_let_go(look, leaf) for leaf in look.health.leaves):
        lasting = []
    table = plain(look.table.relation.sql)
    return steps(*lasting[:1], f"VACUUM (INDEX_CLEANUP ON) {table};\nANALYZE {table};")
