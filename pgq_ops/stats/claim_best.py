"""The best of several looks at the claim, which others are compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.stats.claim_cost import ClaimCost


def better(best: ClaimCost | None, cost: ClaimCost) -> ClaimCost | None:
    """The better one to compare with: one that found a job, by an index in its order if any did, then the cheaper.

    An empty table is read whole for one page, and that tells nothing of what a claim should cost.
    """
    if cost.plan is None or not cost.plan.rows_returned:
        return best
    return cost if best is None or _rank(cost) <= _rank(best) else best


def _rank(cost: ClaimCost) -> tuple[bool, int]:
    by_index = cost.plan is not None and not cost.plan.scans_table and not cost.plan.sorts
    return not by_index, cost.buffers or 0
