"""Agents as processes of their own, watched from outside: by their metrics, their log, their exit code."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.error import URLError

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
_SAMPLE = re.compile(r"(?P<name>\w+)(?:\{(?P<labels>.*)\})? (?P<value>\S+)")

JOBS = """
CREATE TABLE {name} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    status text NOT NULL DEFAULT 'pending',
    available_at timestamptz NOT NULL DEFAULT now(),
    lease_until timestamptz,
    claimed_by text,
    claim_version bigint NOT NULL DEFAULT 0,
    attempts int NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON {name} (available_at, id) WHERE status = 'pending';
CREATE INDEX ON {name} (id) WHERE status = 'running';
"""
EXPIRED = """
INSERT INTO {name} (status, lease_until, claimed_by, attempts)
VALUES ('running', now() - interval '1 minute', 'gone', 1)
"""


def wait_until(condition: Callable[[], object], seconds: float = 10.0, what: str = "") -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"did not happen in {seconds} s: {what}"
        time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def config_text(  # noqa: PLR0913 (each by its name)
    dsn: str, port: int, *tables: str, mode: str = "manage", every: str = "1s", agent: str = "", autovacuum: str = ""
) -> str:
    """A config of `lease` tables, each with a reaper that runs `every` so often, and an autovacuum section if given."""
    head = f'[database]\ndsn = {json.dumps(dsn)}\n[agent]\nmode = "{mode}"\nlisten = "127.0.0.1:{port}"\n'
    head += f'log_format = "json"\ncollect_every = "500ms"\n{agent}\n'
    body = "".join(
        f'[job_tables.{name}]\ntable = "public.{name}"\npreset = "lease"\n'
        f'[job_tables.{name}.reaper]\nevery = "{every}"\nsettle = "0s"\n'
        + (f"[job_tables.{name}.autovacuum]\n{autovacuum}\n" if autovacuum else "")
        for name in tables
    )
    return head + body


class Agent:
    """One agent. `tasks`: "real", or the fakes of agent_tasks by name. Use it as a context manager."""

    def __init__(self, folder: Path, dsn: str, *tables: str, tasks: str = "real", port: int = 0, **config: str) -> None:
        self.port = port or free_port()
        self.folder = folder / f"agent-{self.port}-{time.monotonic_ns()}"
        self.folder.mkdir()
        self.config = self.folder / "pgq-ops.toml"
        self.log = self.folder / "log"
        if tasks != "real":  # the second fake is asked for by that section
            config.setdefault("autovacuum", f'every = "{config.get("every", "1s")}"')
        self.config.write_text(config_text(dsn, self.port, *(tables or ("jobs",)), **config))
        self.command = [sys.executable, "-m", "tests.support.agent_tasks", tasks, str(self.config)]
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self.log.open("wb") as stderr:
            self.process = subprocess.Popen(self.command, cwd=ROOT, stderr=stderr, stdout=stderr)
        return self

    def __exit__(self, *_: object) -> None:
        if self.alive.poll() is None:
            self.alive.kill()
        self.alive.wait()

    @property
    def alive(self) -> subprocess.Popen[bytes]:
        assert self.process is not None
        return self.process

    @property
    def pid(self) -> int:
        return self.alive.pid

    def signal(self, number: signal.Signals) -> None:
        self.alive.send_signal(number)

    def ended(self, seconds: float = 10.0) -> int:
        """Its exit code, once it has ended by itself."""
        return self.alive.wait(seconds)

    def get(self, path: str) -> tuple[int, str]:
        """Status and body; status 0 while nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except (URLError, OSError):
            return 0, ""

    def series(self, name: str) -> dict[str, float]:
        """The values of one metric by their labels as they are written."""
        lines = (_SAMPLE.fullmatch(line) for line in self.get("/metrics")[1].splitlines() if not line.startswith("#"))
        return {match["labels"] or "": float(match["value"]) for match in lines if match and match["name"] == name}

    def value(self, name: str, *labels: str) -> float | None:
        """The one value of a metric whose labels contain all these texts; None if there is none."""
        found = [value for key, value in self.series(name).items() if all(label in key for label in labels)]
        assert len(found) <= 1, found
        return found[0] if found else None

    def leads(self, table: str = "jobs") -> bool:
        return self.value("pgqops_leader", f'job_table="{table}"') == 1

    def events(self, name: str = "") -> list[dict[str, Any]]:
        """The log's events, all or those of one name."""
        lines = [line for line in self.log.read_text().splitlines() if line.startswith("{")]
        events: list[dict[str, Any]] = [json.loads(line) for line in lines]
        return [event for event in events if not name or event["event"] == name]

    def told(self, name: str, seconds: float = 10.0) -> dict[str, Any]:
        """The first event of this name, waiting for it."""
        wait_until(lambda: self.events(name), seconds, f"{name} in\n{self.log.read_text()}")
        return self.events(name)[0]
