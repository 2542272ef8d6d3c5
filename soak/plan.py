"""How long a run is, and when which trouble comes: at random moments, with a rest after each storm."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from soak.terms import SLACK_SECONDS

if TYPE_CHECKING:
    import random

# In the second half of a cycle nothing is done to the agents: longer than they need to take over and settle, so that
# what they do then is held against their interval alone.
CYCLE_SECONDS = 20.0


class Kind(StrEnum):
    """What is done to the agents or to their server."""

    KILL = "kill -9 of an agent"
    TERMINATE = "pg_terminate_backend of an agent's session"
    RESTART = "restart of the server"
    CRASH = "immediate shutdown of the server"


@dataclass(frozen=True, slots=True)
class Plan:
    """The length of the storm and of the calm after it, and how often each thing happens. One restart is a crash."""

    seconds: float = 720.0
    calm_seconds: float = 30.0
    kills: int = 200
    terminations: int = 200
    restarts: int = 3
    workers: int = 10
    poison_share: float = 0.02
    seed: int = 0
    slack_seconds: float = SLACK_SECONDS

    def troubles(self, dice: random.Random) -> list[tuple[float, Kind]]:
        """What happens when, in seconds since the beginning, in order."""
        cycles = max(1, round(self.seconds / CYCLE_SECONDS))
        cycle = self.seconds / cycles
        kinds = [Kind.KILL] * self.kills + [Kind.TERMINATE] * self.terminations
        dice.shuffle(kinds)
        # Every cycle has its share, and within the stormy half of a cycle any moment will do.
        troubles = [((place % cycles) * cycle + dice.uniform(0, cycle / 2), kind) for place, kind in enumerate(kinds)]
        for number in range(self.restarts):
            kind = Kind.CRASH if number == self.restarts // 2 else Kind.RESTART
            at = int((number + 1) * cycles / (self.restarts + 1)) * cycle
            troubles.append((at + dice.uniform(0, cycle / 2), kind))
        return sorted(troubles)
