"""What upkeep remembers of one leaf: how fast rows die, since when a vacuum is overdue, what our last one did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.stats.vacuum_watch import went_back
from pgq_ops.tasks.upkeep.ending import VacuumFate

if TYPE_CHECKING:
    from pgq_ops.stats.horizon import Holder
    from pgq_ops.stats.table_health import LeafHealth
    from pgq_ops.tasks.upkeep.ending import VacuumEnd

# Of two looks the later one counts as much as all before it: a burst is known within seconds, chance evens out.
_WEIGHT = 0.5
# A VACUUM of a leaf may take a quarter of the time.
REST = 3.0
# One that was cancelled, or could not be done, is tried again after this long; longer each time up to the longest.
FIRST_SECONDS, LONGEST_SECONDS = 2.0, 60.0
# One that was not done in time gets twice as long the next time.
SECONDS, MOST_SECONDS = 60.0, 3_600.0


@dataclass(frozen=True, slots=True)
class Kept:
    """The dead rows that our last VACUUM had to leave, and for whom, where that is known."""

    rows: int
    holder: Holder | None


@dataclass(slots=True)
class LeafTrack:
    """Moments are monotonic seconds.

    `dying`: dead rows a second that are for VACUUM alone: what a page gives back by itself (HOT) is not among them.
    `due_since`: since when there have been more dead rows than autovacuum waits for, and nobody at work on them.
    `seconds`: how long the next VACUUM may take. `not_before`: no VACUUM begins earlier. `frozen`: the counters of the
    leaf when it was frozen, so that it is once. `quiet_since`: since when nothing was written, as far as it was seen.
    `lost_done`: it was vacuumed after its statistics were lost.
    """

    leaf: LeafHealth
    looked_at: float
    seen_at: float
    dying: float = 0.0
    due_since: float | None = None
    seconds: float = SECONDS
    not_before: float = 0.0
    kept: Kept | None = None
    frozen: tuple[int, ...] | None = None
    quiet_since: float = 0.0
    lost_done: bool = False
    last: VacuumEnd | None = None
    _troubles: int = 0
    _rates: int = 0
    _dead: tuple[float, float] = field(default=(0.0, 0.0))

    def __post_init__(self) -> None:
        """The first look."""
        self._dead, self.quiet_since = (float(self.leaf.dead_rows or 0), self.seen_at), self.seen_at
        self._note_due(self.seen_at)

    def look(self, leaf: LeafHealth, looked_at: float, now: float) -> None:
        """Take in a later look. `looked_at`: when it was, in epoch seconds by the database's clock."""
        seconds, before = looked_at - self.looked_at, self.leaf
        if went_back(before, leaf) or seconds <= 0:
            self._rates, self.frozen = 0, None
        else:
            rate = max(0.0, (_left_behind(leaf) - _left_behind(before)) / seconds)
            self.dying = rate if self._rates == 0 else _WEIGHT * rate + (1 - _WEIGHT) * self.dying
            self._rates += 1
        if leaf.vacuums != before.vacuums:
            self.due_since = None
        if _counters(leaf) != _counters(before):
            self.quiet_since = now
        self.lost_done = self.lost_done and leaf.lost
        self.leaf, self.looked_at, self.seen_at = leaf, looked_at, now
        if self.last is None or self.last.at is None or looked_at > self.last.at:
            self._dead = float(leaf.dead_rows or 0), now
        self._note_due(now)

    def dead_rows(self, now: float) -> float:
        """How many there are by now: those of the last look, or of our last VACUUM, and what has died since."""
        rows, at = self._dead
        return rows + self.dying * max(0.0, now - at)

    def seconds_until(self, rows: float, now: float) -> float:
        """How long until there are so many dead rows; infinite where none die."""
        missing = rows - self.dead_rows(now)
        if missing <= 0:
            return 0.0
        return missing / self.dying if self.dying > 0 else float("inf")

    def ended(self, end: VacuumEnd, holder: Holder | None, now: float) -> None:
        """A VACUUM of ours is over; `holder`: who held the horizon back the most when it began."""
        self.last = end
        if end.fate in (VacuumFate.OK, VacuumFate.USELESS, VacuumFate.NOTHING):
            self._troubles, self.seconds = 0, max(SECONDS, 2 * end.seconds)
            self.not_before = now + REST * end.seconds
            if end.left_rows is not None:
                self._dead = float(end.left_rows), now
                self.due_since = None
            self.kept = Kept(end.left_rows or 0, holder) if end.fate is VacuumFate.USELESS else None
            return
        if end.fate is VacuumFate.UNFINISHED:
            self.seconds = min(2 * self.seconds, MOST_SECONDS)
        self._troubles += 1
        wait = LONGEST_SECONDS if end.fate is VacuumFate.NOT_PERMITTED else FIRST_SECONDS * 2 ** (self._troubles - 1)
        self.not_before = now + max(min(wait, LONGEST_SECONDS), REST * end.seconds)

    def counters(self) -> tuple[int, ...]:
        """What was written there, as the statistics have it."""
        return _counters(self.leaf)

    def _note_due(self, now: float) -> None:
        due = self.leaf.dead_rows is not None and self.leaf.dead_rows > self.leaf.vacuum_threshold
        if not due or self.leaf.vacuum_running:
            self.due_since = None
        elif self.due_since is None:
            self.due_since = now


def _counters(leaf: LeafHealth) -> tuple[int, ...]:
    return leaf.inserted, leaf.updated, leaf.deleted


def _left_behind(leaf: LeafHealth) -> int:
    return leaf.updated - leaf.hot_updated + leaf.deleted
