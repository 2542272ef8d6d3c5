"""Sees one job table again and again, and tells the tasks what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.stats.churn import ChurnWatch
from pgq_ops.stats.claim_pairs import ClaimPairs
from pgq_ops.stats.observed import Observed
from pgq_ops.stats.vacuum_runs import VacuumRunsWatch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.stats.churn import Churn
    from pgq_ops.stats.claim_cost import ClaimCost
    from pgq_ops.stats.horizon import Horizon
    from pgq_ops.stats.table_health import TableHealth
    from pgq_ops.stats.vacuum_runs import VacuumRuns


@dataclass(slots=True)
class Observing:
    """The watches over one job table; used by one thread. They tell anew only where the table was looked at anew."""

    _churn: ChurnWatch = field(default_factory=ChurnWatch)
    _runs: VacuumRunsWatch = field(default_factory=VacuumRunsWatch)
    _claims: ClaimPairs = field(default_factory=ClaimPairs)
    _at: float | None = None
    _told: tuple[Mapping[int, Churn], Mapping[int, VacuumRuns], tuple[tuple[int, int], ...]] = field(
        default_factory=lambda: ({}, {}, ())
    )

    def observed(self, health: TableHealth, claim: ClaimCost | None, horizon: Horizon | None) -> Observed:
        """What is known by this collection. `claim`: the last look at it, None where that failed."""
        if health.at != self._at:
            self._at = health.at
            self._claims.look(health, claim, horizon)
            self._told = self._churn.look(health), self._runs.look(health), self._claims.pairs()
        return Observed(health, *self._told, claim.seconds if claim is not None else None, horizon)
