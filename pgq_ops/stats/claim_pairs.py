"""What claims cost at so many dead rows: one pair for each look at both."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.stats.claim_cost import ClaimCost, ClaimPlan
    from pgq_ops.stats.horizon import Horizon
    from pgq_ops.stats.table_health import TableHealth

KEPT_SECONDS = 3_600.0
"""Long enough for the queue's ups and downs; a plan or an index that is older no longer tells."""
# The table is looked at each 15 s; looks that follow faster replace nothing and tell nothing more.
_MOST = 240
# As long as a healthy queue's dead rows may wait for a vacuum anyway.
_HELD_SECONDS = 60.0


@dataclass(slots=True)
class ClaimPairs:
    """Of one job table.

    No pair for a claim that took too long to be measured, or goes by no index in its order; nor while somebody holds
    the horizon back: then claims go to the table for each dead entry, as nobody may mark it, and no vacuum would help.
    """

    _pairs: deque[tuple[float, int, int]] = field(default_factory=lambda: deque(maxlen=_MOST))

    def look(self, health: TableHealth, claim: ClaimCost | None, horizon: Horizon | None = None) -> None:
        """Note one look at the table, the claim and the horizon of the same collection."""
        if claim is not None and claim.buffers is not None and claim.plan is not None and not _is_held(horizon):
            dead = _in_the_way(health, claim.plan) if _goes_by_index(claim.plan) else None
            if dead is not None:
                self._pairs.append((health.at, dead, claim.buffers))
        while self._pairs and not 0 <= health.at - self._pairs[0][0] <= KEPT_SECONDS:
            self._pairs.popleft()

    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Dead rows, and the pages that the claim read then; the oldest first."""
        return tuple((dead, buffers) for _, dead, buffers in self._pairs)


def _is_held(horizon: Horizon | None) -> bool:
    """By somebody who has gone on for longer than a worker's transaction should; of the others it is not known."""
    return horizon is not None and any((holder.seconds or 0.0) >= _HELD_SECONDS for holder in horizon.holders)


def _goes_by_index(plan: ClaimPlan) -> bool:
    return bool(plan.indexes) and not plan.sorts and not plan.scans_table


def _in_the_way(health: TableHealth, plan: ClaimPlan) -> int | None:
    """The dead rows of the leaves that the claim read; None where one of them does not tell."""
    read = {relation for relation, _ in plan.scans}
    dead = [leaf.dead_rows for leaf in health.leaves if leaf.name in read]
    known = [number for number in dead if number is not None]
    return sum(known) if len(known) == len(dead) > 0 else None
