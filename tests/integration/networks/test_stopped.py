"""A leader, or a proxy under it, that is stopped and not dead: every kernel goes on answering keepalives for it."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.support.agent import EXPIRED, wait_until
from tests.support.gate import Gate

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.agent import Agent
    from tests.support.database import Database

    Start = Callable[..., Agent]

# The server ends a leader that asks nothing for 15 s; the next one asks every 2 s. The promise is 30 s.
SHORTEST, LONGEST = 12, 30
# The former leader may be waiting for a task's statement: its 30 s, and 10 s in which the server's word of that may come.
SAYS_SO = 45
# The server looks after a running statement's client every 2 s.
KILLED = 6
SESSIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pgq-ops/leader'"
)


def acted(database: Database, agent: Agent) -> int:
    return int(database.value("SELECT count(*) FROM acted WHERE agent = %s", [agent.pid]))


def takes_over(jobs: Database, follower: Agent, since: float, what: str) -> None:
    """The follower leads and acts in time; how long it took is printed, to be read with -s."""
    wait_until(lambda: follower.leads() and acted(jobs, follower), LONGEST + 10, "the other agent leads and acts")
    took = time.monotonic() - since
    print(f"{what} -> the next one acted: {took:.1f} s")  # noqa: T201 (a measurement)
    assert took <= LONGEST


def leading_and_following(jobs: Database, start: Start, dsn: str) -> tuple[Agent, Agent]:
    """An agent that leads and acts over `dsn`, and one that waits on the server itself."""
    leader = start(dsn, tasks="leaves", every="500ms")
    wait_until(lambda: leader.leads() and acted(jobs, leader))
    follower = start(jobs.dsn, tasks="leaves", every="500ms")
    wait_until(lambda: follower.get("/readyz")[0] == 200)
    return leader, follower


@pytest.mark.case("A5")
def test_a_leader_that_was_stopped_has_lost_its_lock_to_the_next_one_and_does_nothing_when_it_goes_on(
    jobs: Database, start: Start
) -> None:
    leader, follower = leading_and_following(jobs, start, jobs.dsn)
    leader.signal(signal.SIGSTOP)
    stopped = time.monotonic()
    wait_until(lambda: time.monotonic() - stopped > SHORTEST / 2 or follower.leads())
    assert not follower.leads(), "a pause of seconds costs nobody the lock"
    takes_over(jobs, follower, stopped, "leader stopped")
    before = acted(jobs, leader)
    leader.signal(signal.SIGCONT)
    leader.told("leader.lost")
    wait_until(lambda: jobs.value(SESSIONS, {}) == 2, what="it has a session again")
    assert leader.value("pgqops_leader") == 0
    assert follower.leads()
    assert acted(jobs, leader) == before, "it knew that its lock is gone before it asked"
    assert leader.value("pgqops_task_runs_total", 'outcome="failed"', 'task="reaper"') == 0


@pytest.mark.networks
def test_a_leader_that_is_killed_in_a_long_statement_leaves_neither_it_nor_the_lock_behind(
    jobs: Database, start: Start
) -> None:
    leader = start(jobs.dsn, tasks="sleeps_long", every="500ms")
    wait_until(lambda: leader.leads() and acted(jobs, leader))
    follower = start(jobs.dsn, tasks="leaves", every="500ms")
    wait_until(lambda: follower.get("/readyz")[0] == 200)
    leader.signal(signal.SIGKILL)
    killed = time.monotonic()
    wait_until(lambda: acted(jobs, follower), LONGEST, "the other agent acts")
    took = time.monotonic() - killed
    print(f"leader killed in a statement of 29 s -> the next one acted: {took:.1f} s")  # noqa: T201 (a measurement)
    assert took <= KILLED


@pytest.mark.networks
def test_an_agent_alone_that_was_stopped_leads_again_and_waits_until_the_workers_had_time_to_renew(
    jobs: Database, start: Start
) -> None:
    agent = start(jobs.dsn, every="500ms")
    wait_until(agent.leads)
    text = agent.config.read_text()
    agent.config.write_text(text.replace('settle = "0s"', 'settle = "4s"'))
    agent.signal(signal.SIGHUP)
    agent.told("config.reloaded")
    agent.signal(signal.SIGSTOP)
    locks = (
        "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE datname = current_database()"
    )
    wait_until(lambda: jobs.value(f"{locks} AND locktype = 'advisory'") == 0, 20)
    jobs.execute(EXPIRED.format(name="jobs"))
    agent.signal(signal.SIGCONT)
    resumed = time.monotonic()
    wait_until(agent.leads)
    wait_until(lambda: jobs.value("SELECT status FROM jobs") == "pending")
    assert time.monotonic() - resumed >= 4, "live workers may have been frozen with it"
    wait_until(lambda: agent.value("pgqops_up") == 1)


@pytest.mark.networks
def test_behind_a_proxy_that_passes_nothing_on_a_leader_gives_up_and_the_next_one_leads(
    jobs: Database, start: Start
) -> None:
    server = conninfo_to_dict(jobs.dsn)
    with Gate((str(server["host"]), int(server["port"] or 5432))) as gate:
        through = make_conninfo(jobs.dsn, host="127.0.0.1", port=gate.port)
        leader, follower = leading_and_following(jobs, start, through)
        gate.shut()
        shut = time.monotonic()
        wait_until(lambda: leader.value("pgqops_up") == 0, LONGEST, "it says that it cannot look")
        assert not leader.series("pgqops_jobs"), "absent, not frozen"
        takes_over(jobs, follower, shut, "proxy stopped")
        wait_until(
            lambda: not leader.leads(), SAYS_SO - (time.monotonic() - shut), "the old one no longer says it leads"
        )
        print(f"the old one stopped saying so after {time.monotonic() - shut:.1f} s")  # noqa: T201 (a measurement)
        slowest = 0.0
        for path in ("/metrics", "/livez", "/readyz") * 5:
            began = time.monotonic()
            assert leader.get(path)[0] == 200
            slowest = max(slowest, time.monotonic() - began)
        assert slowest < 1
        gate.open()
        wait_until(lambda: jobs.value(SESSIONS, {}) == 2, 20, "it has a session again")
        follower.signal(signal.SIGKILL)
        wait_until(leader.leads, 10, "and leads again when it may")
        wait_until(lambda: leader.value("pgqops_up") == 1)
