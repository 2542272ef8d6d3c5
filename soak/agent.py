"""One agent: the real command as a process of its own, and what its counters say."""

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
    from pathlib import Path

# What was taken back, by job table and outcome.
Counts = Counter[tuple[str, str]]

_SCRAPE_SECONDS = 2.0
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

    def kill(self) -> None:
        """SIGKILL it and wait until it is gone."""
        self.process.kill()
        self.process.wait()
        self.ended_at = time.time()


def begin(dsn: str, folder: Path) -> Agent:
    """Start one; it writes to the log that all of them share, and is killed when this process is gone."""
    port = free_port()
    config = folder / f"agent-{port}.toml"
    config.write_text(_CONFIG.format(port=port) + "".join(table.config for table in TABLES), encoding="utf-8")
    tether = [sys.executable, "-P", "-m", "pgq_ops.demo.tether", str(os.getpid())]
    with (folder / "agents.log").open("ab") as log:
        process = subprocess.Popen(
            [*tether, sys.executable, "-P", "-m", "pgq_ops", "agent", "--config", str(config)],
            env=child_environment(dsn),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    return Agent(process, port)
