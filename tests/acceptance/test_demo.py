"""`pgq-ops demo`, the installed command, as a newcomer runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMMAND = [str(Path(sys.executable).with_name("pgq-ops")), "demo"]

# Somebody who also works with a real database: the demo must not go near it.
ELSEWHERE = {
    "PGHOSTADDR": "192.0.2.1",
    "PGSSLMODE": "verify-full",
    "PGQ_OPS_DSN": "host=nowhere.invalid",
    "PGQ_OPS_AGENT__MODE": "observe",
}

Process = tuple[int, str]


def play(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "--seconds", "10", *options],
        env=os.environ | ELSEWHERE,
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )


def verdicts(document: dict[str, Any]) -> dict[str, bool]:
    return {check["name"]: check["holds"] for check in document["checks"]}


def servers_of(pid: int) -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"pgq-ops-server-{pid}-*"))


def stat_of(pid: int) -> list[str]:
    """Fields of /proc/<pid>/stat from the state on; empty for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def alive(process: Process) -> bool:
    """Whether that very process still is: ids are used again, starting times not. A zombie is gone."""
    pid, started = process
    found = stat_of(pid)
    return bool(found) and found[19] == started and found[0] != "Z"


def descendants(pid: int) -> list[Process]:
    found: list[Process] = []
    for child in map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
        found += [(child, stat_of(child)[19]), *descendants(child)]
    return found


# Its own wait: the processes are not our children.
def wait_until(condition: Callable[[], bool], seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Running:
    """A demo in the background, read line by line. It has a session of its own, as in another terminal."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "--seconds", "60"], stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    def read_until(self, words: str) -> None:
        assert self.process.stdout
        assert any(words in line for line in self.process.stdout), f"it ended before it said {words!r}"

    def interrupt(self) -> str:
        """Press Ctrl-C; returns the rest of the output."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.communicate(timeout=30)[0]


@pytest.fixture
def start() -> Iterator[Callable[[], Running]]:
    started: list[Running] = []

    def start() -> Running:
        started.append(Running())
        return started[-1]

    yield start
    for running in started:
        running.process.kill()
        running.process.communicate()


def test_every_job_is_done_or_dead_and_every_stranded_one_came_back() -> None:
    played = play("--json")
    assert played.returncode == 0, played.stderr
    document = json.loads(played.stdout)
    assert document["holds"] is True
    assert all(verdicts(document).values())
    jobs, trouble, stranded = document["jobs"], document["trouble"], document["stranded"]
    assert jobs["enqueued"] == jobs["done"] + jobs["dead"] > 20
    assert jobs["open"] == jobs["missing"] == 0
    assert min(trouble.values()) > 0
    assert stranded["recovered"] == stranded["total"] >= trouble["killed"]
    assert stranded["buried"] == jobs["dead"] >= document["poison"]["dead"] == document["poison"]["jobs"] == 2
    times = document["recovery_seconds"]
    assert 0 <= times["median"] <= times["p95"] <= times["max"]
    assert "All of it holds." in played.stderr


def test_without_the_agent_the_summary_says_what_was_lost_and_the_command_fails() -> None:
    played = play("--no-agent", "--json")
    assert played.returncode == 1, played.stderr
    document = json.loads(played.stdout)
    assert document["holds"] is False
    failed = {name for name, holds in verdicts(document).items() if not holds}
    assert failed == {"all_recovered", "nothing_lost", "poison_buried"}
    assert document["jobs"]["open"] == document["stranded"]["total"] > 0
    assert document["stranded"]["recovered"] == 0
    assert "Not all of it holds" in played.stderr


def test_ctrl_c_ends_everything_and_still_tells_what_was_seen(start: Callable[[], Running]) -> None:
    running = start()
    running.read_until("hangs with job")
    family = descendants(running.process.pid)
    assert len(family) > 5
    assert len(servers_of(running.process.pid)) == 1
    rest = running.interrupt()
    assert running.process.returncode == 130
    assert "Interrupted" in rest
    assert "no job completed twice" in rest
    assert not any(map(alive, family))
    assert servers_of(running.process.pid) == []


def test_nothing_survives_a_killed_demo_and_the_next_one_clears_its_folder(start: Callable[[], Running]) -> None:
    killed = start()
    killed.read_until("hangs with job")  # a stopped process, too, has to go
    family = descendants(killed.process.pid)
    assert any(stat_of(pid)[0] == "T" for pid, _ in family)
    killed.process.kill()
    killed.process.wait()
    wait_until(lambda: not any(map(alive, family)))
    assert len(servers_of(killed.process.pid)) == 1
    following = start()
    following.read_until("PostgreSQL")
    assert servers_of(killed.process.pid) == []
    following.interrupt()
    assert following.process.returncode == 130
