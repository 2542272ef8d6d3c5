"""What a leaf's settings are derived from, and whose the present ones are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.stats.dead_row_budget import DEFAULT_ROWS
from pgq_ops.stats.server_parameters import ServerParameters
from pgq_ops.stats.vacuum_runs import VacuumRuns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.stats.churn import Churn
    from pgq_ops.stats.storage_parameters import LeafStorage
    from pgq_ops.stats.table_health import LeafHealth
    from pgq_ops.stats.vacuum_settings import ServerAutovacuum


@dataclass(frozen=True, slots=True)
class Basis:
    """What is known of a leaf beside the catalog.

    `churn`: None where it was not measured. `budget_rows`: how many dead rows it may have, `budget_reason` how that is
    known. `ceiling`: how many somebody said that there may be at most. `parameters`: the server's. `ours`: what pgq-ops
    set on this leaf before, by parameter, and `before` what was there (None: nothing). `vacuums`: whether an agent is
    asked to run VACUUM where settings cannot keep up.
    """

    churn: Churn | None = None
    runs: VacuumRuns = field(default_factory=VacuumRuns)
    budget_rows: int = DEFAULT_ROWS
    budget_reason: str = ""
    ceiling: float = math.inf
    parameters: ServerParameters = field(default_factory=ServerParameters)
    ours: Mapping[str, str] = field(default_factory=dict)
    before: Mapping[str, str | None] = field(default_factory=dict)
    vacuums: bool = False


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf with all that its plan is derived from."""

    storage: LeafStorage
    health: LeafHealth
    server: ServerAutovacuum
    basis: Basis

    def now(self, parameter: str) -> str | None:
        """The value that is set; None where none is."""
        return self.storage.parameters.get(parameter)

    def is_ours(self, parameter: str) -> bool:
        """Whether what is set is what pgq-ops set."""
        now = self.now(parameter)
        return now is not None and now == self.basis.ours.get(parameter)

    def is_changed_since(self, parameter: str) -> bool:
        """Whether somebody has set another value than pgq-ops did."""
        now = self.now(parameter)
        return now is not None and now != self.basis.ours.get(parameter, now)

    def own(self, parameter: str) -> str | None:
        """What the DBA set on the table, also where pgq-ops has set something else since; None for nothing."""
        return self.basis.before.get(parameter) if self.is_ours(parameter) else self.now(parameter)

    @property
    def rows(self) -> float:
        """The rows of the table, as autovacuum reckons."""
        return max(0.0, self.health.rows)

    @property
    def most_rows(self) -> float:
        """The rows of the table, by whichever of catalog and statistics knows more."""
        return max(self.rows, float(self.health.live_rows or 0))

    @property
    def is_closed(self) -> bool:
        """Whether no new row comes to lie here."""
        return self.storage.closed is True
