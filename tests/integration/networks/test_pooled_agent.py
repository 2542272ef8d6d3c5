"""The whole agent with a real PgBouncer between it and the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.agent import EXPIRED, wait_until
from tests.support.command import run
from tests.support.pgbouncer import PgBouncer, needs_pgbouncer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.agent import Agent
    from tests.support.database import Database

    Start = Callable[..., Agent]

pytestmark = [needs_pgbouncer, pytest.mark.case("A2")]

LOCK_HOLDER = """
SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'advisory' AND a.datname = current_database()
"""


def reaped(jobs: Database, number: int) -> bool:
    return bool(jobs.value("SELECT count(*) = %s FROM jobs WHERE status = 'pending'", [number]))


def test_through_a_pooler_of_sessions_it_leads_and_reaps_and_does_so_again_after_the_pooler_was_restarted(
    jobs: Database, start: Start
) -> None:
    with PgBouncer(jobs.dsn, "session") as pooler:
        jobs.execute(EXPIRED.format(name="jobs"))
        agent = start(pooler.dsn, every="500ms")
        wait_until(lambda: reaped(jobs, 1))
        wait_until(lambda: agent.value("pgqops_up") == 1)
        assert jobs.rows(LOCK_HOLDER) == [("pgq-ops/leader",)]
        pooler.stop()
        wait_until(lambda: not agent.leads() and agent.value("pgqops_up") == 0)
        wait_until(lambda: not jobs.rows(LOCK_HOLDER), what="the pooler's server sessions end with it")
        jobs.execute(EXPIRED.format(name="jobs"))
        pooler.start()
        wait_until(lambda: reaped(jobs, 2), what="it leads again by itself")
        assert agent.leads()


@pytest.mark.parametrize("mode", [pytest.param("transaction", marks=pytest.mark.networks), "statement"])
def test_through_a_pooler_of_less_nothing_is_touched_and_direct_dsn_is_named_until_it_leads_past(
    jobs: Database, start: Start, mode: str
) -> None:
    jobs.execute(EXPIRED.format(name="jobs"))
    with PgBouncer(jobs.dsn, mode) as pooler:
        agent = start(pooler.dsn, every="300ms")
        refused = agent.told("leader.refused")
        assert refused["level"] == "error"
        assert "database.direct_dsn" in refused["error"]
        assert agent.value("pgqops_leader") == 0
        wait_until(lambda: agent.value("pgqops_up") == 0)
        assert not jobs.rows(LOCK_HOLDER)
        assert reaped(jobs, 0)
        by_hand = run("reap", "--yes", "--config", str(agent.config))
        assert by_hand.returncode == 3, by_hand.stderr
        assert "database.direct_dsn" in by_hand.stderr
        assert "Traceback" not in by_hand.stderr
        assert reaped(jobs, 0)
        text = agent.config.read_text()
        agent.config.write_text(text.replace("[agent]\n", f'direct_dsn = "{jobs.dsn}"\n[agent]\n'))
        wait_until(lambda: reaped(jobs, 1), what="it leads and reaps past the pooler")
        wait_until(lambda: agent.leads() and agent.value("pgqops_up") == 1)
        assert agent.alive.poll() is None
        assert run("reap", "--yes", "--config", str(agent.config)).returncode == 0


@pytest.mark.networks
def test_a_pooler_that_takes_no_more_clients_is_told_of_and_tried_again(jobs: Database, start: Start) -> None:
    jobs.execute(EXPIRED.format(name="jobs"))
    with PgBouncer(jobs.dsn, "session", max_client_conn="3") as pooler:
        workers = [jobs.connect(host="127.0.0.1", port=pooler.port) for _ in range(3)]
        agent = start(pooler.dsn, every="300ms")
        assert "no more connections" in agent.told("database.not_usable")["error"]
        assert agent.get("/readyz")[0] == 200
        for worker in workers:
            worker.close()
        wait_until(lambda: reaped(jobs, 1), what="it leads once there is room")
        assert agent.leads()


@pytest.mark.networks
def test_a_pool_without_a_server_to_spare_is_given_up_on_and_tried_again(jobs: Database, start: Start) -> None:
    """PgBouncer lets a client in, and answers its first statement once another one leaves."""
    jobs.execute(EXPIRED.format(name="jobs"))
    with PgBouncer(jobs.dsn, "session", default_pool_size="2", query_wait_timeout="120") as pooler:
        workers = [jobs.connect(host="127.0.0.1", port=pooler.port) for _ in range(2)]
        for worker in workers:
            worker.execute("SELECT 1")
        agent = start(pooler.dsn, every="300ms")
        told = agent.told("database.not_usable", 15)["error"]
        assert "did not answer within 10 s" in told
        assert agent.value("pgqops_leader") == 0
        for worker in workers:
            worker.close()
        wait_until(lambda: reaped(jobs, 1), 20, what="it leads once there is room")
        wait_until(lambda: agent.value("pgqops_up") == 1)
        assert agent.leads()
