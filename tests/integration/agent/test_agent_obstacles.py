"""Locks, missing privileges, a pooler in between: told once, and the rest goes on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.support.agent import EXPIRED, JOBS, wait_until
from tests.support.pgbouncer import needs_pgbouncer, pooled

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.agent import Agent
    from tests.support.database import Database
    from tests.support.roles import Roles

    Start = Callable[..., Agent]

SESSIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'pgq-ops/%%'"
)


def busy_runs(agent: Agent, table: str) -> float:
    return agent.value("pgqops_task_runs_total", f'job_table="{table}"', 'outcome="busy"') or 0


@pytest.mark.case("M1")
def test_a_locked_table_is_busy_and_shown_as_not_up_while_scrapes_are_answered_at_once(
    jobs: Database, start: Start
) -> None:
    jobs.execute(JOBS.format(name="more"))
    agent = start(jobs.dsn, "jobs", "more", every="500ms")
    wait_until(lambda: agent.value("pgqops_up", '"jobs"') == 1 and agent.value("pgqops_up", '"more"') == 1)
    with jobs.connect(autocommit=False) as other:
        other.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
        jobs.execute(EXPIRED.format(name="more"))
        wait_until(lambda: agent.value("pgqops_up", '"jobs"') == 0, what="it is shown")
        wait_until(lambda: busy_runs(agent, "jobs") >= 2, what="busy is counted")
        slowest = 0.0
        for _ in range(20):
            began = time.monotonic()
            assert agent.get("/metrics")[0] == 200
            slowest = max(slowest, time.monotonic() - began)
        assert slowest < 1
        assert not [key for key in agent.series("pgqops_jobs") if '"jobs"' in key], "absent, not the last value"
        assert agent.value("pgqops_up", '"more"') == 1
        wait_until(lambda: jobs.value("SELECT count(*) FROM more WHERE status = 'pending'") == 1)
        assert jobs.value(SESSIONS, {}) == 2
        assert agent.value("pgqops_task_runs_total", 'job_table="jobs"', 'outcome="failed"') == 0
        other.rollback()
    wait_until(lambda: agent.value("pgqops_up", '"jobs"') == 1, 3, "normal again in the next cycle")
    assert agent.leads("jobs"), "a lock is no reason to give up leadership"
    assert not agent.events("task.failed")


def test_a_role_that_may_only_read_is_told_the_grant_once_and_still_collects(
    jobs: Database, start: Start, make_role: Roles
) -> None:
    role = make_role("reader")
    jobs.execute(f'GRANT SELECT ON jobs TO "{role}"')
    jobs.execute(EXPIRED.format(name="jobs"))
    agent = start(jobs.dsn_as(role), every="300ms")
    wait_until(lambda: (agent.value("pgqops_task_runs_total", 'outcome="failed"') or 0) >= 3)
    [told] = agent.events("task.failed")
    assert "GRANT UPDATE" in told["error"]
    wait_until(lambda: agent.value("pgqops_up") == 1)
    jobs.execute(f'GRANT UPDATE ON jobs TO "{role}"')
    wait_until(lambda: jobs.value("SELECT count(*) FROM jobs WHERE status = 'pending'") == 1)
    assert agent.told("task.recovered")


@needs_pgbouncer
@pytest.mark.case("A2")
def test_behind_a_transaction_pooler_nothing_is_led_until_direct_dsn_leads_past_it(
    jobs: Database, start: Start
) -> None:
    jobs.execute(EXPIRED.format(name="jobs"))
    with pooled(jobs.dsn, "transaction") as dsn:
        agent = start(dsn)
        refused = agent.told("leader.refused")
        assert "database.direct_dsn" in refused["error"]
        time.sleep(4.5)  # two more ticks
        assert len(agent.events("leader.refused")) == 1
        assert agent.value("pgqops_leader") == 0
        assert agent.value("pgqops_up") == 0
        assert not agent.series("pgqops_jobs")
        assert jobs.value("SELECT count(*) FROM jobs WHERE status = 'running'") == 1
        text = agent.config.read_text()
        direct = f'direct_dsn = "{jobs.dsn}"\n[agent]\n'
        agent.config.write_text(text.replace("[agent]\n", direct))
        wait_until(lambda: jobs.value("SELECT count(*) FROM jobs WHERE status = 'pending'") == 1)
        assert agent.leads()
