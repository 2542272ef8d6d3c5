"""What the examination says that the agent's tasks would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from pgq_ops.cli.doctor_lines import lines
from pgq_ops.cli.doctor_report import examine
from pgq_ops.cli.reap_report import reap_tables
from tests.support.agent import wait_until
from tests.support.inspection import loaded
from tests.support.jobs import FIELD, FIELD_TABLE, create_field_table

if TYPE_CHECKING:
    from pathlib import Path

    from pgq_ops.cli.doctor_report import Report
    from tests.support.database import Database
    from tests.support.roles import Roles

EXPIRED = """
INSERT INTO jobs (queue, status, lease_until, attempts)
SELECT 'a', 'running', now() - interval '1 h', n FROM generate_series(1, 6) AS n
"""
WATCHED = FIELD.partition("[job_tables.jobs.reaper]")[0]


@pytest.fixture
def jobs(database: Database) -> Database:
    create_field_table(database)
    return database


def report_of(database: Database, folder: Path, toml: str = FIELD) -> Report:
    return examine(loaded(folder, toml, database.dsn), ())


def text_of(report: Report) -> str:
    return "\n".join(line.plain for line in lines(report, 80))


def test_it_ends_with_the_plan_that_a_dry_run_of_the_task_shows(jobs: Database, tmp_path: Path) -> None:
    jobs.execute(EXPIRED)
    report = report_of(jobs, tmp_path)
    [told] = report.as_json()["job_tables"]
    [dry] = reap_tables(loaded(tmp_path, FIELD, jobs.dsn), (), include_stale=False, dry_run=True).tables
    assert dry.result is not None
    assert (dry.result.requeued, dry.result.dead_lettered) == (4, 2)
    assert set(told["would_do"]) == {"reaper", "autovacuum"}
    assert told["would_do"]["reaper"] == {"requested": True, "plan": dry.result.as_json(), "why_not": None}
    assert "in mode manage the agent would now\n  jobs: 4 would be requeued, 2 would be buried\n" in text_of(report)
    assert jobs.value("SELECT count(*) FROM jobs WHERE status = 'running'") == 6


def test_a_task_whose_section_is_missing_is_planned_and_the_section_is_named(jobs: Database, tmp_path: Path) -> None:
    jobs.execute(EXPIRED)
    report = report_of(jobs, tmp_path, WATCHED)
    assert {one.task for one in report.tables[0].planned} == {"reaper", "autovacuum"}
    for planned in report.tables[0].planned:
        assert (planned.requested, planned.result is not None) == (False, True)
        assert f"only with this section in pgq-ops.toml: [job_tables.jobs.{planned.task}]" in text_of(report)


def test_what_keeps_a_task_from_being_planned_is_told(database: Database, tmp_path: Path) -> None:
    database.execute(FIELD_TABLE)
    toml = WATCHED.replace('lease_expires_at = "lease_until"\n', "")
    planned, _ = report_of(database, tmp_path, toml).tables[0].planned
    assert planned.task == "reaper"
    assert planned.result is None
    assert "lease" in planned.why_not


def test_the_sessions_that_the_agent_would_end_are_told(jobs: Database, tmp_path: Path, make_role: Roles) -> None:
    terms = '[transactions]\naction = "terminate"\nend_after = "100ms"\nend_only = [{ application_name = "report-*" }]'
    role = make_role("reports")
    dsn = jobs.dsn_as(role)
    with psycopg.connect(dsn, application_name="report-7") as session:
        session.execute("SELECT 1")
        pid = session.info.backend_pid
        idle = f"SELECT now() - state_change > interval '200 ms' FROM pg_stat_activity WHERE pid = {pid}"
        wait_until(lambda: jobs.value(idle))
        report = report_of(jobs, tmp_path, f"{FIELD}\n{terms}\n")
        assert session.execute("SELECT 1").fetchone() == (1,)
    planned = {one.task: one for one in report.tables[0].planned}
    assert planned["transactions"].requested
    assert f"transactions: would end session {pid}@" in text_of(report)
    assert set(report_of(jobs, tmp_path).as_json()["job_tables"][0]["would_do"]) == {"reaper", "autovacuum"}
