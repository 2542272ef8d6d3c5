"""Who held the horizon back while a vacuum was at work: what it left, that one kept, and not whoever is there now."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.stats.horizon import Holder, Horizon
    from pgq_ops.stats.table_health import LeafHealth, TableHealth


@dataclass(frozen=True, slots=True)
class _Vacuums:
    """Of a leaf: how many vacuums there were, who was the oldest holder before the next, and who before the last."""

    number: int
    before_next: Holder | None = None
    under: Holder | None = None


@dataclass(slots=True)
class VacuumKeepers:
    """Looks at the leaves of one job table and at the horizon side by side, look after look.

    The oldest holder of a moment is the oldest until it lets go, for nobody begins in the past.
    """

    _seen: dict[int, _Vacuums] = field(default_factory=dict)
    _oldest: Holder | None = None
    _at: float | None = None

    def told(self, health: TableHealth | None, horizon: Horizon | None) -> TableHealth | None:
        """The health, with `under` in each vacuum's outcome as the looks so far tell it."""
        if health is None:
            return None
        if health.at != self._at:
            oldest = horizon.holders[0] if horizon is not None and horizon.holders else None
            self._seen = {leaf.oid: self._look(leaf, oldest) for leaf in health.leaves}
            self._oldest, self._at = oldest, health.at
        return replace(health, leaves=tuple(self._leaf(leaf) for leaf in health.leaves))

    def _look(self, leaf: LeafHealth, oldest: Holder | None) -> _Vacuums:
        before = self._seen.get(leaf.oid)
        if before is None:
            return _Vacuums(leaf.vacuums, oldest)
        # A vacuum removes what nobody kept when it began: of one that is at work, the look before it counts.
        if leaf.vacuums != before.number:
            return _Vacuums(leaf.vacuums, self._oldest if leaf.vacuum_running else oldest, before.before_next)
        return replace(before, before_next=before.before_next if leaf.vacuum_running else oldest)

    def _leaf(self, leaf: LeafHealth) -> LeafHealth:
        if leaf.outcome is None:
            return leaf
        return replace(leaf, outcome=replace(leaf.outcome, under=self._seen[leaf.oid].under))
