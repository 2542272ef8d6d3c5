"""Sees to it that nobody waits for a VACUUM of ours: from the probes' session, whose statements are short ones.

The maintenance session is at the VACUUM itself, and the leader's may be at a long batch. The looks come as a job of the
probes' thread, and in between what the collection asks, so that a round of it is no gap.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING

import psycopg

from pgq_ops import logs, sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pgq_ops.db.session import Session
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.leader.leadership import Leadership
    from pgq_ops.scheduler.timetable import Timetable

# The promise is half a second from the first wait to the end: a look, the statement that is before it, the end itself.
EVERY = timedelta(milliseconds=100)
# Without a look for so long (a lost connection, a server that does not answer) nobody knows who waits.
BLIND_SECONDS = 1.5
_JOB = "watch"

log = logs.get("upkeep")


@dataclass(slots=True)
class Looked:
    """One statement that is watched; written by the probes' thread, asked by the one that waits for the statement."""

    pid: int
    still_led: Callable[[], bool]
    looked_at: float = field(default_factory=time.monotonic)
    waiter: str = ""
    ended_for: str = ""

    def must_end(self) -> str:
        """As the Protocol has it."""
        if not self.still_led():
            self.ended_for = "leadership was lost"
        elif time.monotonic() - self.looked_at > BLIND_SECONDS:
            self.ended_for = "nobody could look whether somebody waits for it"
        else:
            return ""
        return self.ended_for

    def cancelled_for(self) -> str:
        """As the Protocol has it."""
        return self.waiter or self.ended_for


@dataclass(slots=True)
class Watching:
    """The watch over one statement at a time. `look` belongs to the probes' thread, `over` to any other."""

    session: Session
    leadership: Leadership
    timetable: Timetable
    thread: str
    _now: Looked | None = None
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def over(self, table: JobTable, pid: int) -> Iterator[Looked]:
        """Watch what the session with that server process runs within."""
        proof = self.leadership.proof(table.name)
        looked = Looked(pid, lambda: proof is not None and self.leadership.proof(table.name) == proof)
        with self._lock:
            self._now = looked
        self.timetable.every(EVERY, _JOB, self.thread, self.look)
        try:
            yield looked
        finally:
            with self._lock:  # no look that has begun cancels what comes next
                self._now = None
            self.timetable.drop(_JOB)

    def look(self) -> None:
        """Cancel the statement if somebody waits for it. Opens no connection, and leaves a lost one to others."""
        with self._lock, suppress(psycopg.Error):
            looked, connection = self._now, self.session.current
            if looked is None or connection is None or connection.closed:
                return
            if time.monotonic() - looked.looked_at < EVERY.total_seconds() / 2:
                return
            row = connection.execute(sql.statement("vacuum/give_way"), {"pid": looked.pid}).fetchone()
            looked.looked_at = time.monotonic()
            if row is not None and not looked.waiter:
                application, waiting, seconds, _ = row
                looked.waiter = f"session {waiting} waited for it" + (f" ({application})" if application else "")
                log.info("upkeep.gave_way", to=waiting, application_name=application, waited_seconds=round(seconds, 3))
