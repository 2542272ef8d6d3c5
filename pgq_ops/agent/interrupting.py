"""Ends what the threads are at: statements are interrupted again and again until none of their jobs runs."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pgq_ops.db.session import Session
    from pgq_ops.scheduler.timetable import Timetable

# A statement that was cancelled ends within milliseconds; one that is not heeded is tried again meanwhile.
EVERY_SECONDS = 0.5


def until_idle(
    timetable: Timetable, sessions: Sequence[Session], deadline: float, interrupt: Callable[[Session], None]
) -> None:
    """Wait until no job runs, at most until `deadline` (monotonic seconds), interrupting the sessions' statements."""
    next_at = 0.0
    while timetable.running() and time.monotonic() < deadline:
        if time.monotonic() >= next_at:
            next_at = time.monotonic() + EVERY_SECONDS
            for session in sessions:
                # A cancel request is a connection of its own, which may hang as well.
                threading.Thread(target=_quietly, args=(interrupt, session), daemon=True).start()
        time.sleep(0.02)


def _quietly(interrupt: Callable[[Session], None], session: Session) -> None:
    with suppress(psycopg.Error, OSError):
        interrupt(session)
