"""The demo's workers: real processes, replaced when they die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import IO, TYPE_CHECKING, Any

from pgq_ops.demo.environment import child_environment
from pgq_ops.demo.schedule import LEASE
from pgq_ops.demo.statements import statement
from pgq_ops.errors import PgqOpsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import psycopg

    from pgq_ops.demo.look import Held


class WorkerFailed(PgqOpsError):
    """A worker ended in a way that the demo did not intend; holds the end of what it wrote."""

    exit_code = 4


class Crew:
    """So many workers at any time. Each process has a name of its own, never used again.

    What is done to a worker goes into the record and to `say`. The processes have sessions of their
    own, so that Ctrl-C on the terminal reaches the demo alone.
    """

    def __init__(
        self, size: int, dsn: str, folder: Path, connection: psycopg.Connection[Any], say: Callable[[str], None]
    ) -> None:
        self._size = size
        self._dsn = dsn
        self._connection = connection
        self._say = say
        self._members: dict[str, subprocess.Popen[bytes]] = {}
        self._hung: set[str] = set()
        self._hired = 0
        self._log_path = folder / "workers.log"
        self._log: IO[bytes] = self._log_path.open("wb")

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the workers, the longest-serving first."""
        return tuple(self._members)

    @property
    def hung(self) -> frozenset[str]:
        """Those that are stopped."""
        return frozenset(self._hung)

    def tick(self) -> None:
        """Note who died and fill the places. Raises WorkerFailed."""
        for name, process in list(self._members.items()):
            if process.poll() is None:
                continue
            if process.returncode != -signal.SIGKILL:
                raise WorkerFailed(f"{name} ended with {process.returncode}:\n{self._log_end()}")
            del self._members[name]
            self._note("poisoned", name)
            self._say(f"{name} was killed by the job it ran")
        while len(self._members) < self._size:
            self._hire()

    def kill(self, held: Held) -> None:
        """SIGKILL the worker that holds the job."""
        process = self._members.pop(held.worker)
        process.kill()
        process.wait()
        self._note("killed", held.worker, held)
        self._say(f"{held.worker} killed holding job {held.job}")

    def stop(self, name: str) -> None:
        """Stop a worker in its tracks; on return it has stopped, or ended."""
        process = self._members[name]
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        self._hung.add(name)

    def note_hung(self, held: Held) -> None:
        """Put down that a stopped worker hangs with this job."""
        self._note("hung", held.worker, held)
        self._say(f"{held.worker} hangs with job {held.job}")

    def wake(self, name: str) -> None:
        """Let a stopped worker go on."""
        self._members[name].send_signal(signal.SIGCONT)
        self._hung.discard(name)

    def dismiss(self) -> None:
        """End all workers, also the stopped ones."""
        for process in self._members.values():
            process.kill()
        for process in self._members.values():
            process.wait()
        self._members.clear()
        self._log.close()

    def _hire(self) -> None:
        self._hired += 1
        name = f"worker-{self._hired}"
        arguments = [name, str(LEASE.total_seconds()), str(os.getpid())]
        self._members[name] = subprocess.Popen(
            [sys.executable, "-P", "-m", "pgq_ops.demo.worker_process", *arguments],
            env=child_environment(self._dsn),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )

    def _note(self, event: str, worker: str, held: Held | None = None) -> None:
        job, version = (held.job, held.version) if held else (None, None)
        entry = {"event": event, "worker": worker, "job": job, "version": version}
        self._connection.execute(statement("note"), entry)

    def _log_end(self) -> str:
        return "\n".join(self._log_path.read_text(errors="replace").splitlines()[-12:])
