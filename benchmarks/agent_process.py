"""The installed command, and an agent beside a database as a process of its own, watched from outside."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.error import URLError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# As a user has it: the script beside the interpreter of this environment.
COMMAND = Path(sys.executable).with_name("pgq-ops")
_READY_SECONDS = 30.0
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

_CONFIG = """
[agent]
mode = "manage"
listen = "127.0.0.1:{port}"
"""
_TABLE = """
[job_tables.{name}]
table = "public.{name}"
preset = "lease"
[job_tables.{name}.reaper]
{reaper}
"""
_TUNED = """[job_tables.{name}.autovacuum]
{autovacuum}
"""


@dataclass(frozen=True, slots=True)
class Agent:
    """A running agent; it serves metrics at `port` and writes to `log`."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def cpu_seconds(self) -> float:
        """Processor time it has used so far (proc(5): utime and stime, after the name in parentheses)."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND

    def resident_bytes(self) -> int:
        """Memory it holds now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        [kilobytes] = re.findall(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
        return 1024 * int(kilobytes)

    def leads(self) -> int:
        """How many job tables it leads."""
        return sum(line.startswith("pgqops_leader{") and line.endswith(" 1.0") for line in self._get("/metrics"))

    def has_collected(self) -> int:
        """Of how many job tables its last look succeeded."""
        return sum(line.startswith("pgqops_up{") and line.endswith(" 1.0") for line in self._get("/metrics"))

    def until(self, condition: Callable[[Agent], bool], what: str, seconds: float = _READY_SECONDS) -> None:
        """Wait until the condition holds of it; raises TimeoutError with the end of its log if it does not in time."""
        try:
            wait_for(lambda: condition(self), what, seconds, every=0.1)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.log.read_text()[-2000:]}") from error

    def is_ready(self) -> bool:
        """Whether it says so."""
        return bool(self._get("/readyz"))

    def _get(self, path: str) -> list[str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                text: str = answer.read().decode()
        except (URLError, OSError):
            return []
        return text.splitlines()


@contextmanager
def agent(dsn: str, *tables: str, reaper: str = "", autovacuum: str = "") -> Iterator[Agent]:
    """An agent in `manage` mode with the given lines in each table's sections; killed in the end."""
    with TemporaryDirectory() as folder:
        port = _free_port()
        config = Path(folder) / "pgq-ops.toml"
        section = _TABLE + (_TUNED if autovacuum else "")
        sections = (section.format(name=name, reaper=reaper, autovacuum=autovacuum) for name in tables)
        config.write_text(_CONFIG.format(port=port) + "".join(sections), encoding="utf-8")
        with (Path(folder) / "log").open("wb") as log:
            command: list[str | Path] = [COMMAND, "agent", "--config", config]
            process = subprocess.Popen(command, env=environment(dsn), cwd=folder, stdout=log, stderr=log)
        try:
            yield Agent(process, port, Path(folder) / "log")
        finally:
            process.kill()
            process.wait()


def environment(dsn: str) -> dict[str, str]:
    """Nothing but what the command needs: no other setting may change what is measured."""
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "PGQ_OPS_DSN": dsn}


def wait_for(condition: Callable[[], bool], what: str, seconds: float = _READY_SECONDS, every: float = 0.005) -> float:
    """Seconds until the condition holds; raises TimeoutError with `what` if it does not in time."""
    began = time.perf_counter()
    while not condition():
        if time.perf_counter() - began > seconds:
            raise TimeoutError(f"not within {seconds:.0f} s: {what}")
        time.sleep(every)
    return time.perf_counter() - began


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
