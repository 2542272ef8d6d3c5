"""Enqueues the demo's jobs at a steady rate."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pgq_ops.demo.statements import statement

if TYPE_CHECKING:
    import psycopg

# Four fifths of what the workers can do with this mix, so that the queue is never long and never idle.
_JOBS_PER_WORKER_SECOND = 2.4
# Longer than a lease: only the heartbeat carries these through.
_LONG_SHARE, _LONG_SECONDS = 0.04, 3.0
_SHORT_SECONDS = (0.05, 0.35)
_DELAYED_SHARE, _DELAY_SECONDS = 0.1, 1.5
_POISON_WORK_SECONDS = 0.1

_DICE = random.Random()  # noqa: S311 (which job is long is no secret)


@dataclass(slots=True)
class Producer:
    """Puts jobs into the table; the poison ones come first, since each takes several leases to die."""

    connection: psycopg.Connection[Any]
    workers: int
    enqueued: int = 0
    _owed: float = field(default=0.0, repr=False)

    def enqueue_poison(self, count: int) -> None:
        """Add jobs that kill every worker that runs them."""
        self._insert([(_payload(_POISON_WORK_SECONDS, poison=True), 0.0)] * count)

    def tick(self, passed_seconds: float) -> None:
        """Add the ordinary jobs that are due after so many more seconds."""
        self._owed += passed_seconds * self.workers * _JOBS_PER_WORKER_SECOND
        count, self._owed = int(self._owed), self._owed % 1
        self._insert([_ordinary() for _ in range(count)])

    def _insert(self, jobs: list[tuple[str, float]]) -> None:
        if not jobs:
            return
        payloads, delays = zip(*jobs, strict=True)
        self.connection.execute(statement("enqueue"), {"payloads": list(payloads), "delays_seconds": list(delays)})
        self.enqueued += len(jobs)


def _ordinary() -> tuple[str, float]:
    long = _DICE.random() < _LONG_SHARE
    seconds = _LONG_SECONDS if long else _DICE.uniform(*_SHORT_SECONDS)
    delay = _DELAY_SECONDS if _DICE.random() < _DELAYED_SHARE else 0.0
    return _payload(seconds, poison=False), delay


def _payload(work_seconds: float, *, poison: bool) -> str:
    return json.dumps({"work_seconds": round(work_seconds, 3), "poison": poison})
