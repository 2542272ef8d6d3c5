"""What a running agent does with a configuration: at the start, and when it changes."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from pgq_ops.schema import versions
from tests.support.agent import EXPIRED, JOBS, Agent, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.database import Database

    Start = Callable[..., Agent]

LEADERS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'pgq-ops/leader' AND datname = current_database()"


def edit(agent: Agent, old: str, new: str) -> None:
    text = agent.config.read_text()
    assert old in text
    agent.config.write_text(text.replace(old, new))


def test_if_no_job_table_fits_it_ends_with_every_mistake_and_writes_nothing(jobs: Database, start: Start) -> None:
    agent = start(jobs.dsn, "job", "more")
    assert agent.ended(10) == 2
    log = agent.log.read_text()
    assert "job_tables.job.table" in log
    assert "job_tables.more.table" in log
    assert "did you mean" in log
    assert "Traceback" not in log


def test_if_some_fit_they_are_worked_on_and_the_others_are_told_and_shown(jobs: Database, start: Start) -> None:
    jobs.execute(EXPIRED.format(name="jobs"))
    agent = start(jobs.dsn, "jobs", "more")
    wait_until(lambda: jobs.value("SELECT count(*) FROM jobs WHERE status = 'pending'") == 1)
    assert agent.told("job_table.not_bound")["job_table"] == "more"
    wait_until(lambda: agent.value("pgqops_up", '"jobs"') == 1)
    assert agent.value("pgqops_up", '"more"') == 0
    assert agent.value("pgqops_leader", '"more"') == 0
    assert len(agent.events("job_table.not_bound")) == 1


def test_a_changed_file_is_taken_over_on_the_same_session(jobs: Database, start: Start) -> None:
    jobs.execute(JOBS.format(name="more"))
    jobs.execute(EXPIRED.format(name="more"))
    agent = start(jobs.dsn, "jobs")
    wait_until(agent.leads)
    before = jobs.rows(LEADERS)
    text = agent.config.read_text()
    more = (
        text[text.index("[job_tables.jobs]") :]
        .replace("_tables.jobs", "_tables.more")
        .replace("public.jobs", "public.more")
    )
    agent.config.write_text(
        text.replace('every = "1s"', 'every = "700ms"') + more.replace("job_tables.more]", "job_tables.more]")
    )
    wait_until(lambda: jobs.value("SELECT count(*) FROM more WHERE status = 'pending'") == 1)
    assert agent.leads("more")
    assert agent.value("pgqops_task_interval_seconds", '"jobs"') == 0.7
    assert jobs.rows(LEADERS) == before
    assert agent.value("pgqops_config_accepted") == 1


def test_a_broken_file_is_told_once_and_the_old_one_stays(jobs: Database, start: Start) -> None:
    agent = start(jobs.dsn)
    wait_until(agent.leads)
    good = agent.config.read_text()
    agent.config.write_text(good + "[job_tables.more\n")
    wait_until(lambda: agent.value("pgqops_config_accepted") == 0)
    jobs.execute(EXPIRED.format(name="jobs"))
    wait_until(lambda: jobs.value("SELECT count(*) FROM jobs WHERE status = 'pending'") == 1)
    time.sleep(1.5)  # the file is looked at each second
    assert len(agent.events("config.refused")) == 1
    agent.config.write_text(good)
    wait_until(lambda: agent.value("pgqops_config_accepted") == 1)


def test_a_schema_that_is_installed_under_the_agent_is_written_to_after_a_reload(jobs: Database, start: Start) -> None:
    agent = start(jobs.dsn, every="200ms")
    wait_until(lambda: (agent.value("pgqops_task_runs_total", 'outcome="nothing"') or 0) >= 2)
    versions.install(jobs.connect())
    agent.signal(signal.SIGHUP)
    wait_until(lambda: jobs.value("SELECT count(*) FROM pgq_ops.task") == 1, 5)


def test_nothing_to_manage_is_told_with_the_section_to_add(jobs: Database, start: Start) -> None:
    agent = start(jobs.dsn)
    wait_until(agent.leads)
    assert not agent.events("config.nothing_to_manage")
    text = agent.config.read_text()
    agent.config.write_text(text[: text.index("[job_tables.jobs.reaper]")])
    told = agent.told("config.nothing_to_manage")
    assert told["level"] == "warning"
    assert "[job_tables.jobs.reaper]" in told["hint"]
    edit(agent, 'mode = "manage"', 'mode = "observe"')
    wait_until(lambda: len(agent.events("config.reloaded")) == 2)
    assert len(agent.events("config.nothing_to_manage")) == 1


def test_a_file_that_is_gone_is_told_once_and_the_agent_goes_on(jobs: Database, start: Start) -> None:
    agent = start(jobs.dsn)
    wait_until(agent.leads)
    good = agent.config.read_text()
    agent.config.unlink()
    assert agent.told("config.file_gone")["path"] == str(agent.config)
    jobs.execute(EXPIRED.format(name="jobs"))
    wait_until(lambda: jobs.value("SELECT count(*) FROM jobs WHERE status = 'pending'") == 1)
    assert agent.value("pgqops_config_accepted") == 1
    agent.config.write_text(good)
    agent.told("config.reloaded")
    assert len(agent.events("config.file_gone")) == 1


def test_another_mode_is_taken_over_and_the_observer_no_longer_acts(jobs: Database, start: Start) -> None:
    agent = start(jobs.dsn)
    wait_until(agent.leads)
    edit(agent, 'mode = "manage"', 'mode = "observe"')
    agent.signal(signal.SIGHUP)
    wait_until(lambda: agent.leads() and not agent.series("pgqops_task_runs_total"))
    jobs.execute(EXPIRED.format(name="jobs"))
    collected = agent.value("pgqops_collection_timestamp_seconds") or 0
    wait_until(lambda: (agent.value("pgqops_collection_timestamp_seconds") or 0) > collected + 2)
    assert jobs.value("SELECT count(*) FROM jobs WHERE status = 'running'") == 1


def test_another_database_is_moved_to_and_the_old_one_let_go(
    jobs: Database, start: Start, make_database: Callable[[], Database]
) -> None:
    other = make_database()
    other.execute(JOBS.format(name="jobs"))
    agent = start(jobs.dsn)
    wait_until(agent.leads)
    edit(agent, jobs.name, other.name)
    wait_until(lambda: agent.value("pgqops_leader", f'database="{other.name}"') == 1)
    assert agent.value("pgqops_leader", f'database="{jobs.name}"') is None
    wait_until(lambda: not jobs.rows(LEADERS), what="no session is left behind")


def test_another_address_needs_a_restart_and_is_told(jobs: Database, start: Start) -> None:
    agent = start(jobs.dsn)
    wait_until(agent.leads)
    edit(agent, f":{agent.port}", ":1")
    assert agent.told("config.needs_restart")["key"] == "agent.listen"
    assert agent.get("/livez")[0] == 200


def test_a_column_that_is_renamed_under_the_agent_is_noticed_by_the_failing_task(jobs: Database, start: Start) -> None:
    agent = start(jobs.dsn)
    wait_until(agent.leads)
    jobs.execute("ALTER TABLE jobs RENAME lease_until TO leased_until")
    jobs.execute(EXPIRED.format(name="jobs").replace("lease_until", "leased_until"))
    assert "lease_until" in agent.told("job_table.not_bound")["error"]
    wait_until(lambda: agent.value("pgqops_up") == 0)
    jobs.execute("ALTER TABLE jobs RENAME leased_until TO lease_until")
    agent.signal(signal.SIGHUP)
    wait_until(lambda: jobs.value("SELECT count(*) FROM jobs WHERE status = 'pending'") == 1)


@pytest.mark.case("D5")
def test_a_table_that_may_not_be_reaped_is_led_and_collected_and_reaped_once_it_may(
    jobs: Database, tmp_path: Path
) -> None:
    jobs.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    jobs.execute("CREATE TABLE history (job bigint REFERENCES jobs ON DELETE CASCADE)")
    jobs.execute(EXPIRED.format(name="jobs"))
    agent = Agent(tmp_path, jobs.dsn, "jobs")
    edit(agent, "[job_tables.jobs.reaper]\n", '[job_tables.jobs.reaper]\ndead_letter_table = "dead_jobs"\n')
    with agent:
        assert "history_job_fkey deletes rows of history" in agent.told("task.failed")["error"]
        assert agent.leads()
        wait_until(lambda: agent.value("pgqops_findings", '"dead-letter-cascade"', '"warning"') == 1)
        wait_until(lambda: agent.value("pgqops_leases", '"expired"') == 1)
        assert agent.value("pgqops_up", '"jobs"') == 1
        assert not agent.events("job_table.not_bound")
        assert jobs.value("SELECT count(*) FROM jobs WHERE status = 'running'") == 1
        edit(agent, 'settle = "0s"\n', 'settle = "0s"\ndead_letter_cascade = true\n')
        wait_until(lambda: jobs.value("SELECT count(*) FROM jobs WHERE status = 'pending'") == 1)
        wait_until(lambda: agent.value("pgqops_findings", '"dead-letter-cascade"', '"info"') == 1)
