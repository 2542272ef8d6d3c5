"""After an immediate shutdown the statistics are gone and the dead rows are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from pgq_ops.demo.server import EmbeddedServer
from tests.support.agent import JOBS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.agent import Agent

    Start = Callable[..., Agent]

NEEDED = 'vacuum = "when-needed"'


@pytest.fixture
def own() -> Iterator[EmbeddedServer]:
    """A server of this test's own, to which no autovacuum comes; with 20,000 jobs, and 3,000 dead rows."""
    with EmbeddedServer({"fsync": "off", "autovacuum_naptime": "1d"}) as server:
        run(server, JOBS.format(name="jobs"))
        run(server, "INSERT INTO jobs (status) SELECT 'done' FROM generate_series(1, 20000)")
        run(server, "ANALYZE jobs")
        run(server, "UPDATE jobs SET attempts = 1, status = 'failed' WHERE id <= 3000")
        yield server


def run(server: EmbeddedServer, query: str) -> Any:
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        return cursor.fetchall()[0][0] if cursor.description else None


def dead(agent: Agent) -> float | None:
    return agent.value("pgqops_dead_tuples")


@pytest.mark.networks  # two rounds of the look at the table's health, 15 s apart
def test_what_died_before_a_crash_is_unknown_and_is_vacuumed_once(own: EmbeddedServer, start: Start) -> None:
    agent = start(own.dsn(), autovacuum=NEEDED)
    wait_until(lambda: dead(agent) == 3_000, 20, "seen")
    own.kill()
    wait_until(lambda: agent.value("pgqops_up") == 0, what="down")
    assert dead(agent) is None
    own.start()
    lock = psycopg.connect(own.dsn())
    lock.execute("LOCK TABLE jobs IN SHARE UPDATE EXCLUSIVE MODE")
    lost = [{"finding": "statistics-lost"}]
    wait_until(lambda: [{"finding": e["finding"]} for e in agent.events("finding.opened")] == lost, 20, "noticed")
    wait_until(lambda: (agent.value("pgqops_vacuums_total", 'outcome="busy"') or 0) >= 1, 20, "it is tried")
    assert dead(agent) is None, "unknown, not 0"
    assert run(own, "SELECT pg_stat_get_dead_tuples('jobs'::regclass)") == 0, "as the server itself has it"
    lock.rollback()
    lock.close()
    wait_until(lambda: agent.value("pgqops_vacuums_total", 'outcome="ok"') == 1, 20, "vacuumed")
    told = [event for event in agent.events("upkeep.ran") if event["outcome"] == "ok"]
    assert [event["statement"] for event in told] == ["VACUUM ANALYZE public.jobs"]
    assert "its statistics were lost" in told[0]["why"]
    wait_until(lambda: [e["finding"] for e in agent.events("finding.closed")] == ["statistics-lost"], 40, "closed")
    assert dead(agent) == 0
    assert agent.value("pgqops_live_tuples") == 20_000
    counts = "SELECT pg_stat_get_vacuum_count('jobs'::regclass) + pg_stat_get_autovacuum_count('jobs'::regclass)"
    assert run(own, counts) == 1
    assert len(agent.events("finding.opened")) == 1, "nobody is told that it was never vacuumed"
