"""Looks at the job tables from outside, often: which jobs still run after their lease ended, and for how long."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psycopg

from soak.terms import EVERY_SECONDS, LEASE_SECONDS, SETTLE_SECONDS, TABLES, TAKEOVER_SECONDS, statement

if TYPE_CHECKING:
    from psycopg.sql import Composed

EVERY_LOOK_SECONDS = 0.1
# How far back a late look tells that the machine was busy.
_RECENT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Overdue:
    """A running job that was seen after its lease and grace were over; in seconds.

    `late`: how long after that it was last seen running. `beyond`: how much of that was never excused: neither by the
    reaper's interval, nor by an agent killed, a session ended or a server started shortly before, nor by the machine,
    when it was too busy for our own looks. `troubled`: whether there was such trouble shortly before that.
    """

    late: float
    beyond: float
    troubled: bool


@dataclass(slots=True)
class Watch:
    """The looks so far. `trouble()` is to be called after whatever was done to the agents or the server."""

    dsn: str
    overdue: dict[tuple[str, int, int, int], Overdue] = field(default_factory=dict)
    starts_us: set[int] = field(default_factory=set)
    looks: int = 0
    longest_gap: float = 0.0
    _excused_until: float = 0.0
    _gaps: deque[tuple[float, float]] = field(default_factory=deque)
    _looked_at: float | None = None
    _connection: psycopg.Connection[Any] | None = None

    def trouble(self) -> None:
        """The agents or the server were just troubled: one of them needs some time until it may act."""
        self._excused_until = time.time() + TAKEOVER_SECONDS + SETTLE_SECONDS
        self._looked_at = None  # what it took is no sign of a busy machine

    def look(self) -> None:
        """Look once, if it is time and the server answers."""
        now = time.monotonic()
        if self._looked_at is not None:
            gap = now - self._looked_at
            if gap < EVERY_LOOK_SECONDS:
                return
            self.longest_gap = max(self.longest_gap, gap)
            self._gaps.append((now, gap))
        while self._gaps and self._gaps[0][0] < now - _RECENT_SECONDS:
            self._gaps.popleft()
        try:
            for table in TABLES:
                terms = {"lease_seconds": LEASE_SECONDS, "grace_seconds": table.grace_seconds}
                self._note(table.name, self.ask(table.statement("list_overdue"), terms))
        except psycopg.OperationalError:
            self._looked_at = None
            return
        self._looked_at = now
        self.looks += 1

    def ask(self, query: Composed, parameters: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """The rows of a query that only reads; raises psycopg.OperationalError where the server does not answer."""
        try:
            return self._connected().execute(query, parameters or {}).fetchall()
        except psycopg.OperationalError:  # the server was started anew since the last one
            self._connected().close()
            return self._connected().execute(query, parameters or {}).fetchall()

    def _connected(self) -> psycopg.Connection[Any]:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self.dsn, autocommit=True, application_name="soak")
            self.starts_us |= {start for (start,) in self._connection.execute(statement("server_start"), {})}
        return self._connection

    def _note(self, table: str, rows: list[tuple[int, int, int, int]]) -> None:
        busy = max((gap for _, gap in self._gaps), default=0.0)
        for job, version, over_us, seen_us in rows:
            seen, over = seen_us / 1e6, over_us / 1e6
            beyond = seen - max(over, self._excused_until) - EVERY_SECONDS - busy
            before = self.overdue.get((table, job, version, over_us))
            most = max(beyond, before.beyond if before is not None else 0.0)
            self.overdue[table, job, version, over_us] = Overdue(seen - over, most, over < self._excused_until)
