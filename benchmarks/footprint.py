"""What an idle agent takes of its machine, beside one job table and beside a hundred."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import psycopg

from benchmarks.agent_process import agent
from benchmarks.figures import Figures, Series, Target
from benchmarks.history import statement

if TYPE_CHECKING:
    from benchmarks.stage import Stage

# Megabytes, and percent of a core (performance.md).
_OF_ONE, _OF_MANY = (60.0, 1.0), (120.0, 10.0)
_CONNECTIONS = 3
# Long enough that what is done once a minute is in it.
_WATCHED_SECONDS = 60.0
_LOOK_SECONDS = 1.0
_START_SECONDS = 60.0


def run(stage: Stage) -> Figures:
    """Watch an agent with the default settings of everything, once it has collected from every table."""
    series: list[Series] = []
    targets: list[Target] = []
    with stage.database(0) as dsn, psycopg.connect(dsn, autocommit=True) as admin:
        for tables, (megabytes, percent) in {1: _OF_ONE, stage.scale.job_tables: _OF_MANY}.items():
            names = _create(admin, tables)
            memory, processor, sessions = _watch(admin, dsn, names, stage.scale.seconds(_WATCHED_SECONDS))
            of = f"agent of {tables} job table{'s' if tables > 1 else ''}"
            series += [
                Series.of(f"{of}: memory", "MB", memory),
                Series.of(f"{of}: share of a core", "%", [processor]),
                Series.of(f"{of}: connections", "", sessions),
            ]
            targets += [
                Target(f"{of}: most memory", max(memory), megabytes, "MB"),
                Target(f"{of}: share of a core", processor, percent, "%"),
                Target(f"{of}: most connections", max(sessions), _CONNECTIONS),
            ]
    return Figures("an idle agent in manage mode with default intervals", tuple(series), tuple(targets))


def _create(admin: psycopg.Connection[Any], tables: int) -> list[str]:
    """Job tables like the demo's, as many as are wanted in all."""
    names = [f"jobs_{number}" for number in range(tables)]
    for name in names:
        admin.execute(
            f"CREATE TABLE IF NOT EXISTS {name} (LIKE demo_queue_jobs INCLUDING ALL)".encode(),
        )
    return names


def _watch(
    admin: psycopg.Connection[Any], dsn: str, names: list[str], seconds: float
) -> tuple[list[float], float, list[float]]:
    """Megabytes held, percent of a core used, and connections open, in the watched seconds."""
    memory: list[float] = []
    sessions: list[float] = []
    with agent(dsn, *names) as watched:
        watched.until(lambda one: one.has_collected() == len(names), "all are collected", _START_SECONDS)
        used, began = watched.cpu_seconds(), time.monotonic()
        while time.monotonic() - began < seconds:
            time.sleep(_LOOK_SECONDS)
            memory.append(watched.resident_bytes() / 1_000_000)
            sessions.append(float(_sessions(admin)))
        processor = 100 * (watched.cpu_seconds() - used) / (time.monotonic() - began)
    return memory, processor, sessions


def _sessions(admin: psycopg.Connection[Any]) -> int:
    row = admin.execute(statement("count_agent_sessions"), {}).fetchone()
    return int(row[0]) if row else 0
