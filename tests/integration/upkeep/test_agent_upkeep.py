"""The agent's VACUUM as others meet it: whoever waits for it, the reaper beside it, and whoever ends the agent."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from pgq_ops.schema import versions
from tests.support.agent import EXPIRED, JOBS, wait_until
from tests.support.table_health import write
from tests.support.upkeep import NEEDED_TOML, VACUUMING, endless, let_rows_die

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.agent import Agent
    from tests.support.database import Database

    Start = Callable[..., Agent]

SESSIONS = "SELECT application_name FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'pgq-ops/%%' ORDER BY 1"
DEAD = "SELECT pg_stat_get_dead_tuples('jobs'::regclass)"


@pytest.fixture
def dead(jobs: Database) -> Database:
    """The table with dead rows that autovacuum would leave for now."""
    let_rows_die(jobs)
    return jobs


def vacuums(agent: Agent, outcome: str) -> float:
    return agent.value("pgqops_vacuums_total", f'outcome="{outcome}"') or 0


def test_dead_rows_are_removed_where_settings_cannot_do_it_in_time(dead: Database, start: Start) -> None:
    versions.install(dead.connect())
    dead.execute(JOBS.format(name="more"))
    write(dead, "INSERT INTO more (status) SELECT 'done' FROM generate_series(1, 20000)")
    write(dead, "UPDATE more SET status = 'x' WHERE id <= 2000")
    dead.execute("ANALYZE more")
    agent = start(dead.dsn, "jobs", "more", autovacuum=NEEDED_TOML)
    left = "SELECT sum(pg_stat_get_dead_tuples(oid)) FROM pg_class WHERE relname IN ('jobs', 'more')"
    wait_until(lambda: dead.value(left) == 0, 20, "vacuumed, one after the other")
    counted = 'job_table="jobs"', 'outcome="ok"'
    wait_until(lambda: agent.value("pgqops_vacuums_total", *counted) == 1, what="counted")
    [ran] = [event for event in agent.events("upkeep.ran") if event["job_table"] == "jobs"]
    assert (ran["statement"], ran["outcome"], ran["removed"]) == ("VACUUM public.jobs", "ok", 2_000)
    wait_until(lambda: dead.rows("SELECT FROM pgq_ops.task WHERE task = 'upkeep' AND outcome = 'ok'"))
    assert dead.rows(SESSIONS, {}) == [("pgq-ops/leader",), ("pgq-ops/maintenance",), ("pgq-ops/probes",)]


def test_by_default_the_agent_only_says_it_and_needs_no_further_session(dead: Database, start: Start) -> None:
    versions.install(dead.connect())
    agent = start(dead.dsn, autovacuum='every = "1h"\ndead_tuple_budget = 1000')
    message = "SELECT message FROM pgq_ops.task WHERE task = 'upkeep'"
    wait_until(lambda: dead.rows(message) == [("would VACUUM public.jobs",)], 20, "told")
    assert dead.value(DEAD) == 2_000
    assert not agent.series("pgqops_vacuums_total")


@pytest.mark.case("V10")
def test_whoever_comes_to_wait_for_its_vacuum_has_it_within_half_a_second(dead: Database, start: Start) -> None:
    with endless(dead):
        agent = start(dead.dsn, autovacuum=NEEDED_TOML)
        waited = []
        for number in range(2):
            wait_until(lambda: dead.value(VACUUMING, {}) == 1, 30, "a VACUUM runs")
            with dead.connect(application_name="migration") as other:
                began = time.monotonic()
                other.execute(f"ALTER TABLE jobs SET (fillfactor = {90 + number})".encode())
                waited.append(time.monotonic() - began)
        print(f"ALTER TABLE waited for our VACUUM: {[round(one, 3) for one in waited]} s")  # noqa: T201
        assert max(waited) < 0.5
        wait_until(lambda: vacuums(agent, "cancelled") == 2, what="counted")
        told = agent.told("upkeep.gave_way")
        assert told["application_name"] == "migration"
        assert not agent.events("task.failed")


@pytest.mark.case("A6")
def test_a_vacuum_that_goes_on_keeps_neither_reaper_nor_metrics_nor_the_agents_end_waiting(
    dead: Database, start: Start
) -> None:
    with endless(dead):
        agent = start(dead.dsn, autovacuum=NEEDED_TOML, every="300ms")
        wait_until(lambda: dead.value(VACUUMING, {}) == 1, 30, "a VACUUM runs")
        dead.execute(EXPIRED.format(name="jobs"))
        wait_until(lambda: dead.value("SELECT count(*) FROM jobs WHERE status = 'pending'") == 1, 3, "reaped")
        before = agent.value("pgqops_collection_timestamp_seconds") or 0
        wait_until(lambda: (agent.value("pgqops_collection_timestamp_seconds") or 0) > before, 5, "collected")
        assert dead.value(VACUUMING, {}) == 1, "and it still runs"
        assert len(dead.rows(SESSIONS, {})) == 3
        began = time.monotonic()
        agent.signal(signal.SIGTERM)
        assert agent.ended(10) == 0
        assert time.monotonic() - began < 5
        assert agent.told("agent.stopped", 1)["clean"] is True
        wait_until(lambda: dead.value(VACUUMING, {}) == 0, 1)
        assert not agent.events("task.failed")
