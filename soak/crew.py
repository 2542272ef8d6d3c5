"""Keeps the workers' places filled, and kills or stops one at random now and then, whatever it is doing."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import TYPE_CHECKING

from soak import worker
from soak.terms import LEASE_SECONDS, TABLES

if TYPE_CHECKING:
    import random
    from multiprocessing.context import ForkServerProcess
    from pathlib import Path

_KILL_EVERY_SECONDS = 3.0
_STOP_EVERY_SECONDS = 6.0
_STOPPED_SECONDS = LEASE_SECONDS + 2.0


@dataclass(slots=True)
class Crew:
    """The workers: each a process, forked from a server that has everything imported, so that a new one is cheap.

    Call `tick()` often. `dismiss()` kills them all.
    """

    dsn: str
    size: int
    folder: Path
    poison_share: float
    dice: random.Random
    hired: int = 0
    died: int = 0
    killed: int = 0
    stopped: int = 0
    calm: bool = False
    _places: list[ForkServerProcess | None] = field(default_factory=list)
    _wake_at: dict[int, float] = field(default_factory=dict)
    _kill_at: float = field(default_factory=time.monotonic)
    _stop_at: float = field(default_factory=time.monotonic)

    def tick(self) -> None:
        """Fill the places, wake who was stopped, and trouble one that works. Raises ChildProcessError."""
        self._places += [None] * (self.size - len(self._places))
        for number, process in enumerate(self._places):
            if process is None or not process.is_alive():
                self._leave(process)
                self._places[number] = self._hire(number)
        now = time.monotonic()
        for pid in [pid for pid, at in self._wake_at.items() if at <= now]:
            del self._wake_at[pid]
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        if self.calm:
            return
        if now >= self._kill_at:
            self._kill_at = now + self.dice.uniform(0, 2 * _KILL_EVERY_SECONDS)
            self.killed += 1
            self._somebody().kill()
        if now >= self._stop_at:
            self._stop_at = now + self.dice.uniform(0, 2 * _STOP_EVERY_SECONDS)
            process = self._somebody()
            if process.pid is not None and process.is_alive():
                self.stopped += 1
                os.kill(process.pid, signal.SIGSTOP)
                self._wake_at[process.pid] = now + _STOPPED_SECONDS

    def calm_down(self) -> None:
        """From now on nothing is enqueued, and only poison jobs kill a worker."""
        self.calm = True
        (self.folder / "calm").touch()

    def dismiss(self) -> None:
        """Kill all workers, also the stopped ones."""
        for process in self._places:
            if process is not None:
                process.kill()
                process.join()
        self._places.clear()
        self._wake_at.clear()

    def _somebody(self) -> ForkServerProcess:
        return self.dice.choice([process for process in self._places if process is not None])

    def _leave(self, process: ForkServerProcess | None) -> None:
        if process is None:
            return
        if process.exitcode != -signal.SIGKILL:
            raise ChildProcessError(f"{process.name} ended with {process.exitcode}")
        self.died += 1
        self._wake_at.pop(process.pid or 0, None)
        process.join()

    def _hire(self, number: int) -> ForkServerProcess:
        context = get_context("forkserver")
        context.set_forkserver_preload(["soak.run"])
        self.hired += 1
        name = f"worker-{self.hired}"
        arguments = (name, self.dsn, TABLES[number % len(TABLES)], self.folder, self.poison_share)
        process = context.Process(target=worker.main, args=arguments, name=name, daemon=True)
        process.start()
        return process
