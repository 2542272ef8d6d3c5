"""Fixtures of the tests that run agents as processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.agent import JOBS, Agent
from tests.support.agent_tasks import ACTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.database import Database


@pytest.fixture
def jobs(database: Database) -> Database:
    """A database with the job table `jobs`, and the table in which the fake tasks leave their traces."""
    database.execute(JOBS.format(name="jobs"))
    database.execute(ACTED)
    return database


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Agent]]:
    """`start(dsn, "jobs", tasks="real")` starts an agent; whatever still runs in the end is killed."""
    agents: list[Agent] = []

    def begin(dsn: str, *tables: str, **options: Any) -> Agent:
        agent = Agent(tmp_path, dsn, *tables, **options)
        agents.append(agent)
        return agent.__enter__()

    yield begin
    for agent in agents:
        agent.__exit__()
