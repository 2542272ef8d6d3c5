"""What upkeep remembers of one leaf: how fast rows die, since when a vacuum is overdue, what our last one did."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pgq_ops.tasks.upkeep import pulse as pulses
from pgq_ops.tasks.upkeep.ending import VacuumFate
from pgq_ops.tasks.upkeep.held import is_same

if TYPE_CHECKING:
    from pgq_ops.stats.horizon import Holder, Horizon
    from pgq_ops.stats.table_health import LeafHealth
    from pgq_ops.tasks.upkeep.ending import VacuumEnd
    from pgq_ops.tasks.upkeep.pulse import Pulse

# What lies this far back no longer counts: a burst is known within seconds, chance evens out. Sessions tell the
# statistics of what they wrote once a second at most.
_MEMORY_SECONDS = 10.0
# What goes on for minutes, a person should hear of.
_LONG_MEMORY_SECONDS = 300.0
# Looks at a table's health come each 15 s.
_RUNNING_SECONDS = 3.0
# A VACUUM of a leaf may take a quarter of the time.
REST = 3.0
# One that was cancelled, or could not be done, is tried again after this long; longer each time up to the longest.
FIRST_SECONDS, LONGEST_SECONDS = 2.0, 60.0
# One that was not done in time gets twice as long the next time.
SECONDS, MOST_SECONDS = 60.0, 3_600.0


@dataclass(frozen=True, slots=True)
class Kept:
    """Our last VACUUM, at a moment, had to leave most dead rows.

    `horizon`: the last look at it that was judged. `holder`: for whom; None before the first look after the VACUUM: who
    was there at the look before it may be gone, and another one there.
    """

    at: float
    horizon: Horizon | None
    holder: Holder | None = None


@dataclass(slots=True)
class LeafTrack:
    """Moments are monotonic seconds.

    `looked_at`: when its health was looked at, `seen_at` its counters. `dying`: dead rows a second that are for VACUUM
    alone; `dying_for_long`: likewise, over minutes. `due_since`: since when there have been more dead rows than
    autovacuum waits for, and nobody at work on them. `seconds`: how long the next VACUUM may take. `not_before`: none
    begins earlier. `frozen`: what had been written there when it was frozen, so that it is once. `quiet_since`: since
    when nothing was written, as far as it was seen; `written_at`: when something last was (None: never seen).
    `lost_done`: it was vacuumed after its statistics were lost.
    """

    leaf: LeafHealth
    seen: Pulse
    seen_at: float
    looked_at: float = field(init=False)
    dying: float = 0.0
    dying_for_long: float = 0.0
    due_since: float | None = None
    seconds: float = SECONDS
    not_before: float = 0.0
    kept: Kept | None = None
    frozen: tuple[int, ...] | None = None
    quiet_since: float = field(init=False)
    written_at: float | None = None
    lost_done: bool = False
    _vacuumed_at: float = 0.0
    _troubles: int = 0
    _rates: int = 0
    _dead: tuple[float, float] = field(init=False)

    def __post_init__(self) -> None:
        """The first look."""
        self.quiet_since = self.looked_at = self.seen_at
        self._dead = float(self.seen.dead or 0), self.seen_at
        self._note_due(self.seen_at)

    def look(self, leaf: LeafHealth, at: float, now: float) -> None:
        """Take in a later look at its health; `at`: when that was, in epoch seconds by the database's clock."""
        self.leaf, self.looked_at = leaf, now
        self.lost_done = self.lost_done and leaf.lost
        self.feel(pulses.of(leaf, at), now)

    def feel(self, pulse: Pulse, now: float) -> None:
        """Take in the counters of a later moment; of an earlier one nothing."""
        seconds, before = pulse.at - self.seen.at, self.seen
        if seconds <= 0:
            return
        if any(after < earlier for after, earlier in zip(pulse.written, before.written, strict=True)):
            self._rates, self.frozen = 0, None
        else:
            rate = max(0.0, (pulse.left_behind - before.left_behind) / seconds)
            weight = 1.0 if self._rates == 0 else min(1.0, seconds / _MEMORY_SECONDS)
            self.dying += weight * (rate - self.dying)
            self.dying_for_long += min(1.0, seconds / _LONG_MEMORY_SECONDS) * (rate - self.dying_for_long)
            self._rates += 1
        if pulse.vacuums != before.vacuums:
            self.due_since = None
        if pulse.written != before.written:
            self.quiet_since = self.written_at = now
        self.seen, self.seen_at = pulse, now
        if pulse.dead is not None and pulse.at > self._vacuumed_at:
            self._dead = float(pulse.dead), now
        self._note_due(now)

    def is_being_vacuumed(self, now: float) -> bool:
        """Whether somebody was at it a moment ago; what was so long ago, a VACUUM of ours finds out at once."""
        return self.leaf.vacuum_running and now - self.looked_at < _RUNNING_SECONDS

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

    def ended(self, end: VacuumEnd, horizon: Horizon | None, now: float) -> None:
        """A VACUUM of ours is over; `horizon`: the last look at it."""
        if end.fate in (VacuumFate.OK, VacuumFate.USELESS, VacuumFate.NOTHING):
            self._troubles, self.seconds = 0, max(SECONDS, 2 * end.seconds)
            self.not_before = now + REST * end.seconds
            if end.left_rows is not None:
                self._dead = float(end.left_rows), now
                self._vacuumed_at, self.due_since = end.at or 0.0, None
            self.kept = Kept(now, horizon) if end.fate is VacuumFate.USELESS else None
            return
        if end.fate is VacuumFate.UNFINISHED:
            self.seconds = min(2 * self.seconds, MOST_SECONDS)
        self._troubles += 1
        wait = LONGEST_SECONDS if end.fate is VacuumFate.NOT_PERMITTED else FIRST_SECONDS * 2 ** (self._troubles - 1)
        self.not_before = now + max(min(wait, LONGEST_SECONDS), REST * end.seconds)

    def look_at_keeper(self, horizon: Horizon | None, now: float) -> None:
        """Whether whoever kept the dead rows is still there, by a look at the horizon; or who that was."""
        kept = self.kept
        if kept is None or horizon is None or horizon is kept.horizon:
            return
        if kept.holder is None:
            since = now - kept.at
            there = [one for one in horizon.holders if one.seconds is None or one.seconds >= since]
        else:
            there = [one for one in horizon.holders if is_same(one, kept.holder)]
        self.kept = replace(kept, horizon=horizon, holder=there[0]) if there else None

    def _note_due(self, now: float) -> None:
        due = self.seen.dead is not None and self.seen.dead > self.leaf.vacuum_threshold
        if not due or self.leaf.vacuum_running:
            self.due_since = None
        elif self.due_since is None:
            self.due_since = now
