"""What an agent leaves alone: tables whose task nobody asked for, and the export of tables that others lead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.leader.key import lock_key
from tests.support.agent import EXPIRED, JOBS, Agent, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.database import Database

    Start = Callable[..., Agent]

READ = ("pgqops_jobs", "pgqops_leases", "pgqops_up", "pgqops_collection_timestamp_seconds")


def test_a_table_without_the_section_is_left_alone_beside_one_that_has_it(jobs: Database, tmp_path: Path) -> None:
    jobs.execute(JOBS.format(name="asked"))
    for name in ("jobs", "asked"):
        jobs.execute(EXPIRED.format(name=name))
    agent = Agent(tmp_path, jobs.dsn, "jobs", "asked", every="200ms")
    text = agent.config.read_text()
    section = '[job_tables.jobs.reaper]\nevery = "200ms"\nsettle = "0s"\n'
    assert section in text
    agent.config.write_text(text.replace(section, ""))
    with agent:
        wait_until(lambda: jobs.value("SELECT status FROM asked") == "pending", what="the other table is reaped")
        wait_until(lambda: agent.leads("jobs"), what="this one is led as well")
        runs = agent.series("pgqops_task_interval_seconds")
        assert any('job_table="asked"' in labels and 'task="reaper"' in labels for labels in runs)
        assert not any('job_table="jobs"' in labels and 'task="reaper"' in labels for labels in runs)
    assert jobs.value("SELECT status FROM jobs") == "running"


def test_an_agent_that_leads_no_longer_exports_nothing_that_it_read(jobs: Database, start: Start) -> None:
    agent = start(jobs.dsn)
    wait_until(lambda: all(agent.series(name) for name in READ), what="the leader exports")
    key = lock_key(jobs.value("SELECT 'jobs'::regclass::oid"), "manage")
    # The lock is taken in the moment in which its session has ended, as another agent would.
    assert jobs.value(
        "SELECT pg_try_advisory_lock(%s) FROM (SELECT bool_and(pg_terminate_backend(pid, 5000)) AS ended"
        " FROM pg_stat_activity WHERE application_name = 'pgq-ops/leader' AND datname = current_database()"
        " OFFSET 0) AS s WHERE ended",
        [key],
    )
    wait_until(lambda: agent.value("pgqops_leader", 'job_table="jobs"') == 0, what="it notices")
    wait_until(lambda: not any(agent.series(name) for name in READ), what="nothing of it is left")
