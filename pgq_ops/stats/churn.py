"""How fast the rows of a leaf change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pgq_ops.stats.vacuum_watch import went_back

if TYPE_CHECKING:
    from pgq_ops.stats.table_health import LeafHealth, TableHealth

WINDOW_SECONDS = 600.0
"""What lies further back says little of what comes next: queues have their hours."""
ENOUGH_SECONDS = 60.0
"""Before that a rate is chance: sessions tell the statistics of what they wrote up to ten seconds later."""
# One in a minute is kept of each leaf, of which there may be thousands.
_STEP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Churn:
    """Rows a second, as counted over the last `seconds`."""

    seconds: float
    inserted: float
    updated: float
    deleted: float

    @property
    def dying(self) -> float:
        """Rows that die a second: by each update, HOT or not, and each delete."""
        return self.updated + self.deleted


class _Mark(NamedTuple):
    """What was counted by a moment; `left_out`: seconds until then of which nobody knows what happened."""

    at: float
    left_out: float
    counted: tuple[int, ...]


@dataclass(slots=True)
class _Watched:
    """One leaf: its last look, the marks of the window, and what the counters lost when they began anew."""

    leaf: LeafHealth
    marks: list[_Mark]
    last: _Mark
    lost: tuple[int, ...] = (0, 0, 0)

    def look(self, leaf: LeafHealth, at: float) -> None:
        """Go on to a later look at the same leaf."""
        left_out, now = self.last.left_out, _counters(leaf)
        if went_back(self.leaf, leaf):
            # What was written since the last look is among neither of both counters.
            left_out += at - self.last.at
            self.lost = tuple(before - after for before, after in zip(self.last.counted, now, strict=True))
        counted = tuple(number + lost for number, lost in zip(now, self.lost, strict=True))
        if counted == self.last.counted:
            counted = self.last.counted  # of a quiet leaf all marks share one
        self.marks = [mark for mark in self.marks if mark.at >= at - WINDOW_SECONDS] or [self.last]
        self.leaf, self.last = leaf, _Mark(at, left_out, counted)
        if at - self.marks[-1].at >= _STEP_SECONDS:
            self.marks.append(self.last)

    def churn(self) -> Churn | None:
        """Between the window's first mark and the last look; None where that is too short."""
        first, last = self.marks[0], self.last
        seconds = (last.at - first.at) - (last.left_out - first.left_out)
        if seconds < ENOUGH_SECONDS:
            return None
        rates = [(after - before) / seconds for before, after in zip(first.counted, last.counted, strict=True)]
        return Churn(seconds, *rates)


@dataclass(slots=True)
class ChurnWatch:
    """Watches the leaves of one job table over a window that slides, by the database's clock.

    Counters that begin anew (a crash, a reset) cost the stretch between two looks, and a clock that is set back, or
    looks further apart than the window, everything before them.
    """

    _leaves: dict[int, _Watched] = field(default_factory=dict)

    def look(self, health: TableHealth) -> dict[int, Churn]:
        """The churn by leaf's oid, of those that were watched for long enough.

        None at all where rows are not counted: on a standby, and without `track_counts`.
        """
        before = self._leaves if health.server.counts else {}
        self._leaves = {leaf.oid: _watched(before.get(leaf.oid), leaf, health.at) for leaf in health.leaves}
        if not health.server.counts:
            return {}
        return {oid: churn for oid, one in self._leaves.items() if (churn := one.churn()) is not None}


def _watched(before: _Watched | None, leaf: LeafHealth, at: float) -> _Watched:
    if before is None or not 0 <= at - before.last.at <= WINDOW_SECONDS:
        mark = _Mark(at, 0.0, _counters(leaf))
        return _Watched(leaf, [mark], mark)
    if at > before.last.at:
        before.look(leaf, at)
    return before


def _counters(leaf: LeafHealth) -> tuple[int, ...]:
    return leaf.inserted, leaf.updated, leaf.deleted
