"""Two agents, each the real command as a process of its own, killed and started again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.demo.environment import child_environment
from pgq_ops.demo.ports import free_port
from soak.terms import TABLES

if TYPE_CHECKING:
    import random
    from pathlib import Path

# What was taken back, by job table and outcome.
Counts = Counter[tuple[str, str]]

_AGENTS = 2
_SCRAPE_SECONDS = 2.0
_STOP_SECONDS = 15.0
_CONFIG = """
[agent]
mode = "manage"
listen = "127.0.0.1:{port}"
collect_every = "1s"
log_format = "json"
"""
_REAPED = re.compile(
    r'^pgqops_reaped_total\{.*job_table="(\w+)".*outcome="(requeued|dead_lettered)".*\} (\S+)$', re.MULTILINE
)
_LEADER = re.compile(r'^pgqops_leader\{.*job_table="(\w+)".*\} 1\.0$', re.MULTILINE)


@dataclass(slots=True)
class Agent:
    """One process of an agent: what it had counted when it was last asked, and when that was and it ended.

    Times are seconds of the epoch.
    """

    process: subprocess.Popen[bytes]
    port: int
    counted: Counts = field(default_factory=Counter)
    asked_at: float = field(default_factory=time.time)
    ended_at: float | None = None
    led: frozenset[str] = frozenset()

    def ask(self) -> None:
        """Read its metrics; nothing changes where it does not answer."""
        began = time.time()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=_SCRAPE_SECONDS) as answer:
                text = answer.read().decode()
        except OSError:
            return
        self.asked_at = began
        self.counted = Counter({(table, outcome): int(float(value)) for table, outcome, value in _REAPED.findall(text)})
        self.led = frozenset(_LEADER.findall(text))


@dataclass(slots=True)
class Agents:
    """The two places, and every agent that ever had one. Call `start()` first and `end()` last."""

    dsn: str
    folder: Path
    dice: random.Random
    everybody: list[Agent] = field(default_factory=list)
    leaders_killed: int = 0
    ended_by_themselves: list[str] = field(default_factory=list)
    _places: list[Agent] = field(default_factory=list)

    def start(self) -> None:
        """Start both."""
        self._places = [self._begin() for _ in range(_AGENTS)]

    def ask(self) -> None:
        """Read the counters of those that answer; start again who ended, which nobody should without being killed."""
        for number, agent in enumerate(self._places):
            if agent.process.poll() is None:
                agent.ask()
            else:
                self.ended_by_themselves.append(f"exit code {agent.process.returncode}, port {agent.port}")
                agent.ended_at = time.time()
                self._places[number] = self._begin()

    def kill(self) -> None:
        """SIGKILL one of the two and start another in its place."""
        number = self.dice.randrange(len(self._places))
        agent = self._places[number]
        self.leaders_killed += bool(agent.led)
        agent.process.kill()
        agent.process.wait()
        agent.ended_at = time.time()
        self._places[number] = self._begin()

    def ready(self) -> bool:
        """Whether each job table is led."""
        for agent in self._places:
            agent.ask()
        return frozenset().union(*(agent.led for agent in self._places)) == {table.name for table in TABLES}

    def counted(self) -> Counts:
        """What all agents, the ended ones included, had counted when they were last asked."""
        return sum((agent.counted for agent in self.everybody), Counter())

    def end(self) -> list[int]:
        """Ask both to end in order; returns their exit codes. What they counted until then has been read."""
        for agent in self._places:
            agent.ask()
        for agent in self._places:
            agent.process.terminate()
        codes = [agent.process.wait(_STOP_SECONDS) for agent in self._places]
        self._places.clear()
        return codes

    def abandon(self) -> None:
        """Kill whoever is left."""
        for agent in self._places:
            agent.process.kill()
            agent.process.wait()
            agent.ended_at = time.time()
        self._places.clear()

    def _begin(self) -> Agent:
        port = free_port()
        config = self.folder / f"agent-{port}.toml"
        config.write_text(_CONFIG.format(port=port) + "".join(table.config for table in TABLES), encoding="utf-8")
        tether = [sys.executable, "-P", "-m", "pgq_ops.demo.tether", str(os.getpid())]
        with (self.folder / "agents.log").open("ab") as log:
            process = subprocess.Popen(
                [*tether, sys.executable, "-P", "-m", "pgq_ops", "agent", "--config", str(config)],
                env=child_environment(self.dsn),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        agent = Agent(process, port)
        self.everybody.append(agent)
        return agent
