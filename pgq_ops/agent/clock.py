"""Noticing that the wall clock was set back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Less than this is the drift that is corrected all the time.
_JUMP_SECONDS = 1.0


class ClockWatch:
    """Compares the wall clock with one that only goes forward.

    The timetable reckons with the wall clock: set back, it would wait for its old times to come again. Set
    forward, or after a suspend, everything is due at once, which is as it should be.
    """

    def __init__(self, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._lead = wall() - monotonic()

    def set_back(self) -> bool:
        """Whether the wall clock was set back since the last call."""
        before, self._lead = self._lead, self._wall() - self._monotonic()
        return self._lead < before - _JUMP_SECONDS
