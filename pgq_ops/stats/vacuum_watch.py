"""What looks one after another tell: what a vacuum removed and left, and since when rows are left."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.stats.horizon import Holder
    from pgq_ops.stats.table_health import LeafHealth, TableHealth


@dataclass(frozen=True, slots=True)
class VacuumOutcome:
    """What the last vacuum did, as far as the looks around it tell: it removed, and left, at least so many dead rows.

    What it left it was not able to remove. `under`: who held the horizon back the most when it began, if that is known
    and anybody did.
    """

    removed_rows: int
    left_rows: int
    under: Holder | None = None


@dataclass(frozen=True, slots=True)
class _Seen:
    leaf: LeafHealth
    over_since: float | None = None
    began_anew: bool = False


@dataclass(slots=True)
class VacuumWatch:
    """Watches the leaves of one job table; moments are monotonic seconds."""

    _seen: dict[int, _Seen] = field(default_factory=dict)

    def watched(self, health: TableHealth, now: float) -> TableHealth:
        """The health with `outcome`, `over_seconds` and `lost` as the looks so far tell them."""
        self._seen = {leaf.oid: _look(self._seen.get(leaf.oid), leaf, now) for leaf in health.leaves}
        leaves = tuple(
            replace(seen.leaf, over_seconds=0.0 if seen.over_since is None else now - seen.over_since)
            for seen in self._seen.values()
        )
        return replace(health, leaves=leaves, statistics_lost=any(leaf.lost for leaf in leaves))


def went_back(before: LeafHealth, after: LeafHealth) -> bool:
    """Whether the counters began anew between two looks."""
    return any(getattr(after, name) < getattr(before, name) for name in ("inserted", "updated", "deleted", "vacuums"))


def _look(before: _Seen | None, leaf: LeafHealth, now: float) -> _Seen:
    over_since = now if _is_over(leaf) else None
    if before is None:
        return _Seen(leaf, over_since)
    began_anew = went_back(before.leaf, leaf)
    if (began_anew or before.began_anew) and leaf.last_vacuumed is None and leaf.last_analyze is None:
        return _Seen(replace(leaf, live_rows=None, dead_rows=None, lost=True), began_anew=True)
    if began_anew:
        return _Seen(leaf, over_since)
    ended = leaf.vacuums > before.leaf.vacuums
    outcome = _outcome(before.leaf, leaf) if ended else before.leaf.outcome
    relieved = ended and (outcome is None or outcome.left_rows <= leaf.bearable_dead_rows)
    if over_since is not None and before.over_since is not None and not relieved:
        over_since = before.over_since
    return _Seen(replace(leaf, outcome=outcome), over_since)


def _outcome(before: LeafHealth, after: LeafHealth) -> VacuumOutcome | None:
    """No more rows can have died since than were written (an insert that is rolled back leaves one too).

    Those that died since hide as many that were removed.
    """
    if before.dead_rows is None or after.dead_rows is None:
        return None
    written = sum(getattr(after, name) - getattr(before, name) for name in ("inserted", "updated", "deleted"))
    return VacuumOutcome(max(0, before.dead_rows - after.dead_rows), max(0, after.dead_rows - written))


def _is_over(leaf: LeafHealth) -> bool:
    return leaf.dead_rows is not None and leaf.dead_rows > leaf.bearable_dead_rows
