"""Findings made by hand, and what the flight recorder kept of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pgq_ops.agent.recording import Recorder
from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.schema.versions import install
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from collections.abc import Collection

    import pytest

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from tests.support.database import Database


def finding(
    name: str = "claims-costly", severity: str = "warning", summary: str = "", remedy: str = "VACUUM;", **evidence: Any
) -> Finding:
    return Finding(name, Severity(severity), summary or f"{name}: {evidence}", evidence, remedy)


@dataclass(slots=True)
class Flight:
    """An agent's recorder over a database of its own, whose clock a test moves on."""

    database: Database
    table: JobTable
    connection: Connection
    now: list[float]
    mode: str = "observe"
    recorder: Recorder = field(init=False)

    def __post_init__(self) -> None:
        self.recorder = Recorder(self.mode)

    def look(self, *findings: Finding, unjudged: Collection[str] = (), after: float = 5.0) -> None:
        """A look of the agent `after` seconds, and what it saw written down."""
        self.now[0] += after
        self.recorder.note(self.table, findings, unjudged)
        self.recorder.write(self.connection, {self.table.name})

    def other(self, mode: str | None = None) -> Flight:
        """Another agent, or this one after a restart: nothing in its memory, a session of its own."""
        return Flight(self.database, self.table, self.database.connect(), self.now, mode or self.mode)

    def rows(self, columns: str = "finding, severity, closed_at IS NULL") -> list[tuple[Any, ...]]:
        return self.database.rows(f"SELECT {columns} FROM pgq_ops.finding ORDER BY id")  # noqa: S608  # a test's own

    def said(self) -> list[str]:
        """What was written down of all findings, in its order."""
        return [text for (text,) in self.database.rows("SELECT summary FROM pgq_ops.finding_change ORDER BY at")]


def flight_over(database: Database, monkeypatch: pytest.MonkeyPatch, *, installed: bool = True) -> Flight:
    """A recorder over the table of the field cases."""
    create_field_table(database)
    if installed:
        install(database.connect())
    bound = bind_toml(database, FIELD)
    now = [1_000.0]
    monkeypatch.setattr("pgq_ops.agent.recording.time.monotonic", lambda: now[0])
    return Flight(database, bound.table, bound.connection, now)


def move(flight: Flight, seconds: int) -> None:
    """Let everything that was written have happened so much earlier."""
    for table, columns in {
        "finding": ("opened_at", "last_seen_at", "closed_at"),
        "finding_change": ("at",),
        "watch": ("began_at", "last_at"),
    }.items():
        settings = ", ".join(f"{column} = {column} - make_interval(secs => {seconds})" for column in columns)
        flight.database.execute(f"UPDATE pgq_ops.{table} SET {settings}")  # noqa: S608  # a test's own
