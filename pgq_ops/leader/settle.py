"""How long the database has been undisturbed: live workers must have had the time to renew their leases."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.config.policy import QueuePolicy


class Settle:
    """Knows when the database was last started, or lost and found again.

    Told by the leader's tick after each look at the server. The first connection of an agent to a server that
    has been up for long is no disturbance; one that was made only after failing is. `clock` counts seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started_at = -math.inf
        self._found_at = -math.inf
        self._losses = 0

    def connected(self, uptime_seconds: float, losses: int) -> None:
        """The server answers, is up for so long, and the session has failed so often by now."""
        now = self._clock()
        self._started_at = now - uptime_seconds
        if losses != self._losses:
            self._losses, self._found_at = losses, now

    def quiet_seconds(self) -> float:
        """Seconds since the server started or was found again, whichever is later; infinite before any connection."""
        return self._clock() - max(self._started_at, self._found_at)

    def settled(self, policy: QueuePolicy) -> bool:
        """Whether the queue's `settle` time is over."""
        return self.quiet_seconds() >= policy.reaper.settle.total_seconds()
