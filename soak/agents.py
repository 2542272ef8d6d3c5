"""Two agents, killed and started again."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from soak.agent import Agent, Counts, begin
from soak.terms import TABLES

if TYPE_CHECKING:
    import random
    from pathlib import Path

_AGENTS = 2
# After half of the kills the place stays empty for so long: then the other agent has to take over, not the next one.
_AWAY_SECONDS = (5.0, 15.0)
_STOP_SECONDS = 15.0


@dataclass(slots=True)
class Agents:
    """The two places, and every agent that ever had one. Call `start()` first and `end()` last."""

    dsn: str
    folder: Path
    dice: random.Random
    everybody: list[Agent] = field(default_factory=list)
    leaders_killed: int = 0
    ended_by_themselves: list[str] = field(default_factory=list)
    _places: list[Agent | None] = field(default_factory=list)
    _back_at: list[float] = field(default_factory=list)

    def start(self) -> None:
        """Start both."""
        self._places = [self._begin() for _ in range(_AGENTS)]
        self._back_at = [0.0] * _AGENTS

    def ask(self) -> None:
        """Read the counters of those that answer; start again who ended, which nobody should without being killed."""
        for number, agent in enumerate(self._places):
            if agent is None:
                if time.monotonic() >= self._back_at[number]:
                    self._places[number] = self._begin()
            elif agent.process.poll() is None:
                agent.ask()
            else:
                self.ended_by_themselves.append(f"exit code {agent.process.returncode}, port {agent.port}")
                agent.ended_at = time.time()
                self._places[number] = self._begin()

    def kill(self) -> None:
        """SIGKILL one of those that are there; another takes its place at once or later, but one is always there."""
        number, agent = self.dice.choice([(number, agent) for number, agent in enumerate(self._places) if agent])
        self.leaders_killed += bool(agent.led)
        agent.kill()
        self._places[number] = None
        away = self.dice.uniform(*_AWAY_SECONDS) if self.dice.random() < 0.5 else 0.0  # noqa: PLR2004 (half of them)
        self._back_at[number] = time.monotonic() + away
        if not away or not any(self._places):
            self._places = [agent or self._begin() for agent in self._places]

    def ready(self) -> bool:
        """Whether each job table is led."""
        self.ask()
        return frozenset().union(*(agent.led for agent in self._there())) == {table.name for table in TABLES}

    def counted(self) -> Counts:
        """What all agents, the ended ones included, had counted when they were last asked."""
        return sum((agent.counted for agent in self.everybody), Counter())

    def end(self) -> list[int]:
        """Ask both to end in order; returns their exit codes. What they counted until then has been read."""
        for agent in self._there():
            agent.ask()
        for agent in self._there():
            agent.process.terminate()
        codes = [agent.process.wait(_STOP_SECONDS) for agent in self._there()]
        self._places.clear()
        return codes

    def abandon(self) -> None:
        """Kill whoever is left."""
        for agent in self._there():
            agent.kill()
        self._places.clear()

    def _there(self) -> list[Agent]:
        return [agent for agent in self._places if agent is not None]

    def _begin(self) -> Agent:
        agent = begin(self.dsn, self.folder)
        self.everybody.append(agent)
        return agent
