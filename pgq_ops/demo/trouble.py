"""Makes workers fail: kills them, or stops them until their lease is over."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.demo.schedule import LONGEST_HANG

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.demo.crew import Crew
    from pgq_ops.demo.look import Held

_KILL_EVERY_SECONDS = 2.0
_HANG_EVERY_SECONDS = 4.0
# A worker wakes so long after its job was taken back, when somebody else has had time to claim it.
_WAKE_AFTER_SECONDS = 0.5

_DICE = random.Random()  # noqa: S311 (who is killed is no secret)


@dataclass(slots=True)
class _Hang:
    held: Held
    wake_at: float


@dataclass(slots=True)
class Trouble:
    """Strikes at intervals, always a worker that holds a job; one worker hangs at a time."""

    crew: Crew
    look_again: Callable[[], tuple[Held, ...]]
    next_kill: float
    next_hang: float
    kills: int = 0
    hangs: int = 0
    _hang: _Hang | None = field(default=None, repr=False)

    @classmethod
    def from_(cls, now: float, crew: Crew, look_again: Callable[[], tuple[Held, ...]]) -> Trouble:
        """Begin soon after `now`."""
        return cls(crew, look_again, now + _KILL_EVERY_SECONDS / 2, now + _KILL_EVERY_SECONDS / 4)

    @property
    def is_over(self) -> bool:
        """Whether nobody hangs any more."""
        return self._hang is None

    @property
    def has_struck(self) -> bool:
        """Whether there was trouble of both kinds: without it a run would prove nothing."""
        return self.kills > 0 and self.hangs > 0

    def strike(self, now: float) -> None:
        """Kill or stop somebody if it is time."""
        if now >= self.next_hang and self._hang is None and (at_work := self._at_work()):
            # The one that claimed last: it is the least likely to finish just before it stops.
            self._stop(max(at_work, key=lambda held: held.lease_left_seconds), now)
            self.next_hang = now + _HANG_EVERY_SECONDS * _DICE.uniform(0.8, 1.2)
        if now >= self.next_kill and (at_work := self._at_work()):
            self.crew.kill(_DICE.choice(at_work))
            self.kills += 1
            self.next_kill = now + _KILL_EVERY_SECONDS * _DICE.uniform(0.8, 1.2)

    def wake_up(self, now: float, held: tuple[Held, ...]) -> None:
        """Let the hanging worker go on once its job has been taken back, or after the longest time."""
        if self._hang is None:
            return
        mine = self._hang.held
        if not any((other.job, other.version) == (mine.job, mine.version) for other in held):
            self._hang.wake_at = min(self._hang.wake_at, now + _WAKE_AFTER_SECONDS)
        if now >= self._hang.wake_at:
            self.crew.wake(mine.worker)
            self._hang = None

    def _stop(self, held: Held, now: float) -> None:
        """It may have finished that job and begun another just before it stopped: look at what it holds now."""
        self.crew.stop(held.worker)
        for kept in self.look_again():
            if kept.worker == held.worker and not kept.poison:
                self.crew.note_hung(kept)
                self.hangs += 1
                self._hang = _Hang(kept, now + LONGEST_HANG.total_seconds())
                return
        self.crew.wake(held.worker)

    def _at_work(self) -> list[Held]:
        """Who works on an ordinary job: the poison ones bring their own trouble."""
        able = set(self.crew.members) - self.crew.hung
        return [held for held in self.look_again() if held.worker in able and not held.poison]
