"""One worker as a process: enqueues, claims, extends, completes; and fails, hangs and dies now and then.

It knows nothing of pgq-ops. Every statement is one transaction, put down in the record before and after.
"""

from __future__ import annotations

import os
import random
import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psycopg

from pgq_ops.demo.tether import tie_to
from soak.record import Pen
from soak.terms import CAP, LEASE_SECONDS, JobTable

if TYPE_CHECKING:
    from pathlib import Path

_POLL_SECONDS = 0.1
_BEAT_SECONDS = LEASE_SECONDS / 4
_HANG_SECONDS = LEASE_SECONDS + 2.0
_LONG_SECONDS = LEASE_SECONDS * 2
_SHORT_SECONDS = (0.02, 0.3)
_MOST_ENQUEUED = 5
# What becomes of a claim where nobody interferes; the rest is done.
_FATES = {"die": 0.03, "hang": 0.03, "fail": 0.06, "long": 0.06}


class Unknown(Exception):
    """The connection was lost: whether the statement was committed is not known."""


@dataclass(slots=True)
class Worker:
    """Works on one job table until it is killed; once the file `calm` is there, only poison jobs kill it."""

    name: str
    dsn: str
    table: JobTable
    pen: Pen
    calm: Path
    poison_share: float
    dice: random.Random = field(default_factory=random.Random)
    _connection: psycopg.Connection[Any] | None = None

    def step(self) -> None:
        """Work on one job, or add some where none is due. Raises Unknown."""
        claims = self._try("claim", {"worker": self.name, "lease_seconds": LEASE_SECONDS})
        if claims:
            [(job, version, poison, *_)] = claims
            self._work(job, version, poison=poison)
        elif self.calm.exists():
            time.sleep(_POLL_SECONDS)
        else:
            jobs = self.dice.randint(1, _MOST_ENQUEUED)
            self._try("enqueue", {"jobs": jobs, "poison_share": self.poison_share}, jobs=jobs)

    def _work(self, job: int, version: int, *, poison: bool) -> None:
        claim = {"job": job, "version": version}
        fate = "die" if poison else self._fate()
        if fate == "hang":
            time.sleep(_HANG_SECONDS)
        else:
            self._beat(claim, _LONG_SECONDS if fate == "long" else self.dice.uniform(*_SHORT_SECONDS))
        if fate == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        action = "complete" if fate != "fail" else "release" if version < CAP else "give_up"
        self._try(action, claim)

    def _fate(self) -> str:
        if self.calm.exists():
            return "done"
        [fate] = self.dice.choices([*_FATES, "done"], [*_FATES.values(), 1 - sum(_FATES.values())])
        return fate

    def _beat(self, claim: dict[str, int], seconds: float) -> None:
        """Work for so long, moving the lease's end forward where the table has one to move."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _BEAT_SECONDS))
            if self.table.extends and left > _BEAT_SECONDS:
                self._try("extend", claim | {"lease_seconds": LEASE_SECONDS})

    def _try(self, action: str, parameters: dict[str, Any], jobs: int = 0) -> list[tuple[Any, ...]]:
        connection = self._connect()
        number = self.pen.intent(self.table.name, action, parameters.get("job"), parameters.get("version"), jobs)
        try:
            rows = connection.execute(self.table.statement(action), parameters).fetchall()
        except psycopg.Error as error:
            self.pen.unknown(number, error.sqlstate or "lost")
            connection.close()
            raise Unknown from error
        self.pen.outcome(number, rows)
        return rows

    def _connect(self) -> psycopg.Connection[Any]:
        while self._connection is None or self._connection.closed:
            try:
                self._connection = psycopg.connect(self.dsn, autocommit=True, application_name=self.name)
            except psycopg.OperationalError:
                time.sleep(_POLL_SECONDS)
        return self._connection


def main(name: str, dsn: str, table: JobTable, folder: Path, poison_share: float) -> None:
    """Work until killed, or until the process that started this one is gone."""
    tie_to(os.getppid())
    worker = Worker(name, dsn, table, Pen(folder / f"{name}.record"), folder / "calm", poison_share)
    while True:
        try:
            worker.step()
        except Unknown:
            continue
