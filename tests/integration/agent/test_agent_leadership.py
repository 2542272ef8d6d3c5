"""Several agents, one job table: who acts, who exports, and how long it takes when the leader is gone."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.agent import EXPIRED, JOBS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.agent import Agent
    from tests.support.database import Database

    Start = Callable[..., Agent]

LOCK_HOLDERS = (
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory'"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


def pending(database: Database) -> int:
    return int(database.value("SELECT count(*) FROM jobs WHERE status = 'pending'"))


def test_of_two_agents_one_leads_and_the_other_acts_within_five_seconds_of_its_death(
    jobs: Database, start: Start
) -> None:
    agents = [start(jobs.dsn), start(jobs.dsn)]
    wait_until(lambda: any(agent.leads() for agent in agents), what="one leads")
    wait_until(lambda: all(agent.get("/readyz")[0] == 200 for agent in agents), what="both are ready")
    [leader] = [agent for agent in agents if agent.leads()]
    [follower] = [agent for agent in agents if agent is not leader]
    jobs.execute(EXPIRED.format(name="jobs"))
    wait_until(lambda: pending(jobs) == 1, what="the leader reaps")
    assert not follower.leads()
    leader.signal(signal.SIGKILL)
    killed = time.monotonic()
    jobs.execute(EXPIRED.format(name="jobs"))
    wait_until(lambda: pending(jobs) == 2, what="the other reaps")
    took = time.monotonic() - killed
    print(f"leader killed -> next one acted: {took:.2f} s")  # noqa: T201 (a measurement to read with -s)
    assert took <= 5
    wait_until(follower.leads)


@pytest.mark.case("M4")
def test_a_follower_exports_itself_and_nothing_that_was_read(jobs: Database, start: Start) -> None:
    leader = start(jobs.dsn)
    wait_until(lambda: leader.value("pgqops_up") == 1, what="the leader collects")
    follower = start(jobs.dsn)
    wait_until(lambda: follower.get("/readyz")[0] == 200)
    assert follower.value("pgqops_leader", 'job_table="jobs"') == 0
    assert follower.value("pgqops_task_runs_total", 'task="reaper"', 'outcome="ok"') == 0
    for read in ("pgqops_up", "pgqops_jobs", "pgqops_leases", "pgqops_collection_timestamp_seconds"):
        assert leader.series(read), read
        assert not follower.series(read), read
    connections = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE "
    assert jobs.value(connections + "'pgq-ops/%%'", {}) == 3, "two of the leader, one of the follower"


@pytest.mark.case("A1")
def test_a_pass_whose_session_is_terminated_ends_there_and_the_other_agent_takes_over(
    jobs: Database, start: Start
) -> None:
    agents = [start(jobs.dsn, tasks="batches", every="8s"), start(jobs.dsn, tasks="batches", every="8s")]
    wait_until(lambda: all(agent.get("/readyz")[0] == 200 for agent in agents))
    wait_until(lambda: jobs.value("SELECT count(*) > 5 FROM acted"), what="a pass goes on")
    first = jobs.value("SELECT agent FROM acted ORDER BY at LIMIT 1")
    [old] = [agent for agent in agents if agent.pid == first]
    [new] = [agent for agent in agents if agent.pid != first]
    old.signal(signal.SIGSTOP)  # in the pass, and so that the other one is first to find the lock free
    assert jobs.value(f"SELECT pg_terminate_backend(pid, 2000) FROM ({LOCK_HOLDERS}) AS held")
    terminated = time.monotonic()
    wait_until(lambda: jobs.value("SELECT count(DISTINCT agent) FROM acted") == 2, what="the other agent acts")
    assert time.monotonic() - terminated <= 5
    before = jobs.value("SELECT count(*) FROM acted WHERE agent = %s", [first])
    old.signal(signal.SIGCONT)
    assert old.told("leader.lost")
    wait_until(lambda: old.value("pgqops_leader") == 0 and new.leads())
    assert jobs.value("SELECT count(*) FROM acted WHERE agent = %s", [first]) == before, "no batch without the lock"
    assert old.value("pgqops_task_runs_total", 'task="reaper"', 'outcome="failed"') == 1
    assert len(jobs.rows(LOCK_HOLDERS)) == 1


def test_each_agent_may_lead_another_table_and_an_observer_stands_in_nobodys_way(jobs: Database, start: Start) -> None:
    jobs.execute(JOBS.format(name="more"))
    observer = start(jobs.dsn, "jobs", "more", mode="observe")
    manager = start(jobs.dsn, "jobs", "more")
    for agent in (observer, manager):
        wait_until(lambda agent=agent: agent.leads("jobs") and agent.leads("more"))  # type: ignore[misc]
    jobs.execute(EXPIRED.format(name="more"))
    wait_until(lambda: jobs.value("SELECT count(*) FROM more WHERE status = 'pending'") == 1)
    assert not observer.series("pgqops_task_runs_total"), "what only observes runs no task"
