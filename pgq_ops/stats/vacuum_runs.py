"""What the vacuums of a leaf did and how long they took, as far as looks one after another tell."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from pgq_ops.stats.index_passes import IndexPasses
from pgq_ops.stats.vacuum_watch import went_back

if TYPE_CHECKING:
    from pgq_ops.stats.table_health import LeafHealth, TableHealth

# The last ones; an odd number, so that the median is one of them.
_REMEMBERED = 9


@dataclass(frozen=True, slots=True)
class VacuumRuns:
    """The vacuums seen so far. `removed_rows`: of dead rows, in median. `seconds`: that they took, in median.

    `interval_seconds`: between their ends, in median. `skipped_indexes`: the last one left the dead entries in the
    indexes (of several between two looks, all did). Each is None where it is not known.

    `removed_rows` counts those that died while one was at work too. Before PostgreSQL 18 `seconds` is the least that it
    can have been, and None where most of them came and went between two looks. See IndexPasses for `skipped_indexes`.
    """

    count: int = 0
    removed_rows: int | None = None
    seconds: float | None = None
    interval_seconds: float | None = None
    skipped_indexes: bool | None = None


def _last() -> deque[float]:
    return deque(maxlen=_REMEMBERED)


@dataclass(slots=True)
class _Watched:
    """One leaf and its last vacuums. `running_since`: the first look that saw the one that is at work."""

    leaf: LeafHealth
    count: int = 0
    removed: deque[float] = field(default_factory=_last)
    seconds: deque[float] = field(default_factory=_last)
    intervals: deque[float] = field(default_factory=_last)
    running_since: float | None = None
    passes: IndexPasses = field(default_factory=IndexPasses)

    def look(self, leaf: LeafHealth, at: float) -> None:
        """Go on to a later look at the same leaf."""
        before, self.leaf = self.leaf, leaf
        if went_back(before, leaf):
            self.running_since, self.passes = None, IndexPasses()
            return
        ended = leaf.vacuums - before.vacuums
        if ended:
            self.count += ended
            self._note(before, leaf, ended)
        self.passes.look(before, leaf, removed=ended > 0 and _removed(before, leaf) > 0)
        if leaf.progress is None:
            self.running_since = None
        elif ended or self.running_since is None:
            self.running_since = at

    def _note(self, before: LeafHealth, after: LeafHealth, ended: int) -> None:
        if before.dead_rows is not None and after.dead_rows is not None:
            self.removed.append(_removed(before, after) / ended)
        if after.last_vacuumed is None:
            return
        if before.last_vacuumed is not None and before.last_vacuumed < after.last_vacuumed:
            self.intervals.append((after.last_vacuumed - before.last_vacuumed) / ended)
        if before.vacuum_seconds is not None and after.vacuum_seconds is not None:
            self.seconds.append((after.vacuum_seconds - before.vacuum_seconds) / ended)
        else:
            seen = 0.0 if self.running_since is None else after.last_vacuumed - self.running_since
            self.seconds.append(max(0.0, seen))

    def runs(self) -> VacuumRuns:
        """What is known by now."""
        removed, seconds = _median(self.removed), _median(self.seconds)
        return VacuumRuns(
            self.count,
            None if removed is None else round(removed),
            seconds or None,
            _median(self.intervals),
            self.passes.skipped,
        )


@dataclass(slots=True)
class VacuumRunsWatch:
    """Watches the leaves of one job table, by the database's clock."""

    _leaves: dict[int, _Watched] = field(default_factory=dict)

    def look(self, health: TableHealth) -> dict[int, VacuumRuns]:
        """The vacuums by leaf's oid, of those where any was seen to end."""
        before, self._leaves = self._leaves, {}
        for leaf in health.leaves:
            watched = self._leaves[leaf.oid] = before.get(leaf.oid) or _Watched(leaf)
            watched.look(leaf, health.at)
        return {oid: watched.runs() for oid, watched in self._leaves.items() if watched.count}


def _removed(before: LeafHealth, after: LeafHealth) -> int:
    """What was dead and what died since, without what is dead now. HOT updates' rows go without a vacuum too."""
    updated = (after.updated - after.hot_updated) - (before.updated - before.hot_updated)
    died = updated + after.deleted - before.deleted
    return max(0, (before.dead_rows or 0) + died - (after.dead_rows or 0))


def _median(numbers: deque[float]) -> float | None:
    return median(numbers) if numbers else None
