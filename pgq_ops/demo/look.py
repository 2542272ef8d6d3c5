"""What the job table and the record say at one moment.

Plain statements of the demo's own: it is to be a witness of what pgq-ops does, so it does not ask pgq-ops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pgq_ops.demo.statements import statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    import psycopg

_STATES = ("scheduled", "ready", "running", "done", "dead")
# Sequence numbers can become visible out of order, so each look reaches back a little.
_REACH_BACK_SECONDS = 5.0
_TOLD_EVENTS = ("requeued", "buried", "refused")


@dataclass(frozen=True, slots=True)
class Held:
    """A running job, who claimed it, and the seconds until its lease ends (negative: it is over)."""

    job: int
    version: int
    worker: str
    lease_left_seconds: float
    poison: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """Something recorded about a job; `lease_over_seconds` is set where the job was taken back."""

    seq: int
    event: str
    worker: str
    job: int
    version: int
    lease_over_seconds: float | None


@dataclass(frozen=True, slots=True)
class Look:
    """One look: jobs by state, who holds what, how often each event happened, and the entries that are new."""

    counts: Mapping[str, int]
    held: tuple[Held, ...]
    events: Mapping[str, int]
    news: tuple[Entry, ...]

    def held_by(self, worker: str) -> Held | None:
        """The job that the worker holds."""
        return next((held for held in self.held if held.worker == worker), None)

    @property
    def open(self) -> int:
        """How many jobs are neither done nor dead."""
        return sum(self.counts[state] for state in ("scheduled", "ready", "running"))


class Lookout:
    """Looks again and again, and remembers which entries of the record it has told."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._told: set[int] = set()

    def look(self) -> Look:
        """Take one look."""
        counts = self._connection.execute(statement("count_states"), {}).fetchone() or (0,) * len(_STATES)
        events = self._connection.execute(statement("count_events"), {}).fetchall()
        return Look(dict(zip(_STATES, counts, strict=True)), self.held(), dict(events), self._news())

    def held(self) -> tuple[Held, ...]:
        """Who holds what, only that."""
        return tuple(Held(*row) for row in self._connection.execute(statement("list_held"), {}))

    def _news(self) -> tuple[Entry, ...]:
        parameters = {"seconds": _REACH_BACK_SECONDS, "events": list(_TOLD_EVENTS)}
        rows = self._connection.execute(statement("list_recent_record"), parameters)
        news = tuple(entry for entry in (Entry(*row) for row in rows) if entry.seq not in self._told)
        self._told.update(entry.seq for entry in news)
        return news
