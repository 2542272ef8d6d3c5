"""Keeps a worker's lease alive while it works."""

from __future__ import annotations

from threading import Event, Thread
from typing import TYPE_CHECKING, Self

import psycopg

from pgq_ops.demo.statements import statement

if TYPE_CHECKING:
    from datetime import timedelta

# Three beats may fail before the lease is over.
_BEATS_PER_LEASE = 4


class Heartbeat:
    """Extends the lease of one claim from a thread, over a connection of its own, until it is left.

    `lost` becomes true when the claim is somebody else's: work that can be stopped should stop then.
    Jobs shorter than one beat cost no connection.
    """

    def __init__(self, dsn: str, job: int, version: int, lease: timedelta) -> None:
        self.lost = False
        self._dsn = dsn
        self._claim = {"job": job, "version": version, "lease_seconds": lease.total_seconds()}
        self._every_seconds = lease.total_seconds() / _BEATS_PER_LEASE
        self._left = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Start beating."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop beating."""
        self._left.set()
        self._thread.join()

    def _run(self) -> None:
        if self._left.wait(self._every_seconds):
            return
        with psycopg.connect(self._dsn, autocommit=True, application_name="heartbeat") as connection:
            while not self.lost:
                self.lost = connection.execute(statement("extend_lease"), self._claim).rowcount == 0
                if self._left.wait(self._every_seconds):
                    return
