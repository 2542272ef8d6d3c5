"""The database goes away and comes back, as another server even: the agent goes on by itself."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from pgq_ops.demo.server import EmbeddedServer
from tests.support.agent import EXPIRED, JOBS, wait_until
from tests.support.agent_tasks import ACTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.agent import Agent

    Start = Callable[..., Agent]


@pytest.fixture
def own() -> Iterator[EmbeddedServer]:
    """A server of this test's own, which it may stop; with the table `jobs`."""
    with EmbeddedServer({"fsync": "off"}) as server:
        run(server, JOBS.format(name="jobs") + ACTED)
        yield server


def run(server: EmbeddedServer, query: str) -> Any:
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        return cursor.fetchall()[0][0] if cursor.description else None


def settle(agent: Agent, seconds: str) -> None:
    agent.config.write_text(agent.config.read_text().replace('settle = "0s"', f'settle = "{seconds}"'))


@pytest.mark.case("A3")
@pytest.mark.case("M4")
def test_a_restart_of_the_database_in_a_pass_leaves_an_agent_that_works_again(
    own: EmbeddedServer, start: Start
) -> None:
    agent = start(own.dsn(), tasks="batches", every="1s")
    wait_until(lambda: run(own, "SELECT count(*) FROM acted") > 3)
    wait_until(lambda: agent.series("pgqops_jobs"))
    own.kill()
    wait_until(lambda: not agent.leads())
    wait_until(lambda: agent.value("pgqops_up") == 0 and not agent.series("pgqops_jobs"), what="absent, not frozen")
    assert agent.get("/livez")[0] == 200
    assert agent.get("/readyz")[0] == 200
    assert agent.told("leader.lost")
    wait_until(lambda: agent.events("database.not_usable"))
    own.start()
    run(own, "TRUNCATE acted")
    wait_until(agent.leads)
    wait_until(lambda: run(own, "SELECT count(*) FROM acted") > 3, what="it acts again")
    wait_until(lambda: agent.value("pgqops_up") == 1 and agent.series("pgqops_jobs"))
    assert len(agent.events("database.not_usable")) <= 3, "told when it changes, not at each try"


@pytest.mark.case("A3")
def test_an_agent_started_without_a_database_serves_and_begins_once_there_is_one(
    own: EmbeddedServer, start: Start
) -> None:
    own.stop()
    agent = start(own.dsn())
    wait_until(lambda: agent.get("/readyz")[0] == 200)
    assert agent.value("pgqops_up") == 0
    assert agent.value("pgqops_leader", 'job_table="jobs"') == 0
    assert len(agent.events("database.not_usable")) == 1
    own.start()
    run(own, EXPIRED.format(name="jobs"))
    wait_until(lambda: run(own, "SELECT count(*) FROM jobs WHERE status = 'pending'") == 1)
    assert agent.leads()


@pytest.mark.case("R20")
def test_nothing_is_reaped_until_the_settle_time_after_the_database_came_back_is_over(
    own: EmbeddedServer, start: Start
) -> None:
    agent = start(own.dsn(), every="300ms")
    wait_until(agent.leads)
    settle(agent, "4s")
    agent.signal(signal.SIGHUP)
    agent.told("config.reloaded")
    own.restart()
    run(own, EXPIRED.format(name="jobs") + ";" + EXPIRED.format(name="jobs"))
    wait_until(agent.leads)
    runs = agent.value("pgqops_task_runs_total", 'outcome="nothing"') or 0
    wait_until(lambda: (agent.value("pgqops_task_runs_total", 'outcome="nothing"') or 0) >= runs + 3)
    assert run(own, "SELECT count(*) FROM jobs WHERE status = 'running'") == 2, "passes were made, and took nothing"
    run(own, "UPDATE jobs SET lease_until = now() + interval '1 hour' WHERE id = 1")
    wait_until(lambda: run(own, "SELECT count(*) FROM jobs WHERE status = 'pending'") == 1)
    up = run(own, "SELECT extract(epoch FROM now() - pg_postmaster_start_time())::float8")
    assert up >= 4
    assert run(own, "SELECT status FROM jobs WHERE id = 1") == "running", "who renewed in time keeps its job"


# The server becomes a standby under the same address, as a DSN does that leads to the wrong one after a failover.
@pytest.mark.case("A4")
def test_before_a_standby_nobody_leads_and_when_it_is_promoted_the_agent_does(
    own: EmbeddedServer, start: Start
) -> None:
    agent = start(own.dsn(), tasks="leaves", every="500ms")
    wait_until(agent.leads)
    own.stop()
    signal_file = own.folder.data / "standby.signal"
    signal_file.touch()
    own.start()
    assert run(own, "SELECT pg_is_in_recovery()")
    acted = run(own, "SELECT count(*) FROM acted")
    wait_until(lambda: any("standby" in event["error"] for event in agent.events("database.not_usable")))
    wait_until(lambda: not agent.leads())
    assert run(own, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0
    assert run(own, "SELECT pg_promote()")
    wait_until(agent.leads)
    wait_until(lambda: run(own, "SELECT count(*) FROM acted") > acted)
