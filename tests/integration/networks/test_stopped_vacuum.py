"""A leader that is stopped in its VACUUM: nobody else begins meanwhile, and it ends once it goes on."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.support.agent import wait_until
from tests.support.upkeep import NEEDED_TOML, VACUUMING, endless, let_rows_die

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.agent import Agent
    from tests.support.database import Database

    Start = Callable[..., Agent]


@pytest.mark.networks  # two agents, one of which is stopped: the other has to find the lock free
def test_one_whose_leadership_is_lost_ends_and_the_next_leader_begins_its_own(jobs: Database, start: Start) -> None:
    let_rows_die(jobs)
    with endless(jobs):
        agents = [start(jobs.dsn, autovacuum=NEEDED_TOML), start(jobs.dsn, autovacuum=NEEDED_TOML)]
        running = "SELECT pid FROM pg_stat_progress_vacuum WHERE datname = current_database()"
        wait_until(lambda: jobs.value(VACUUMING, {}) == 1, 30, "a VACUUM runs")
        [(first,)] = jobs.rows(running, {})
        [leader] = [agent for agent in agents if agent.leads()]
        leader.signal(signal.SIGSTOP)  # so that the other one is first to find the lock free
        leads = (
            "SELECT pg_terminate_backend(pid, 2000) FROM pg_locks WHERE locktype = 'advisory' AND pid <> %s"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        assert jobs.value(leads, [first])
        [other] = [agent for agent in agents if agent is not leader]
        wait_until(other.leads, 10, "the other one leads")
        assert jobs.rows(running, {}) == [(first,)], "nobody else begins meanwhile"
        leader.signal(signal.SIGCONT)
        wait_until(lambda: jobs.rows(running, {}) not in ([(first,)], []), 30, "the next leader's runs")
        cancelled = "pgqops_vacuums_total", 'outcome="cancelled"'
        wait_until(lambda: leader.value(*cancelled) == 1, what="counted")
        reasons = {event["why"] for event in leader.events("upkeep.ran")}
        assert reasons == {"leadership was lost"}
