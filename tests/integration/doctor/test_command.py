"""The examination as a whole: each point on its own, what the tasks would do, and how it is shown."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.production.judging import POINT_LIMITS, judge
from pgq_ops.checks.production.registry import POINTS
from pgq_ops.checks.production.verdict import passed
from pgq_ops.cli.doctor_lines import lines
from pgq_ops.cli.doctor_report import examine
from pgq_ops.errors import DatabaseUnreachable, NotPermitted
from pgq_ops.schema import versions
from tests.support.agent import wait_until
from tests.support.doctor_points import doctor
from tests.support.inspection import loaded
from tests.support.jobs import FIELD, SMALL, create_field_table

if TYPE_CHECKING:
    from pathlib import Path

    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.cli.doctor_report import Report
    from tests.support.database import Database
    from tests.support.roles import Roles


@dataclass
class Asking:
    """A point that runs a statement of the test's."""

    statement: str
    ID: str = "asking"
    TITLE: str = "Asking goes well"
    asked: list[str] = field(default_factory=list)

    def check(self, examination: Examination) -> Verdict:
        self.asked.append(self.statement)
        examination.connection.execute(self.statement.encode(), {})
        return passed("so it did")


@pytest.fixture
def jobs(database: Database) -> Database:
    create_field_table(database)
    return database


def report_of(database: Database, folder: Path, toml: str = FIELD) -> Report:
    return examine(loaded(folder, toml, database.dsn), ())


def text_of(report: Report, width: int | None = 80, *, everything: bool = False) -> str:
    return "\n".join(line.plain for line in lines(report, width, everything=everything))


def test_ids_and_titles_are_told_apart() -> None:
    assert len({point.ID for point in POINTS}) == len({point.TITLE for point in POINTS}) == len(POINTS)
    assert all(point.TITLE[0].isupper() or point.TITLE.startswith("pgq-ops") for point in POINTS)


def test_a_point_that_fails_or_takes_too_long_keeps_no_other_one_back(jobs: Database, make_role: Roles) -> None:
    reader = make_role("reader")
    jobs.execute(f'GRANT SELECT ON jobs TO "{reader}"')
    one = doctor(jobs, role=reader)
    asked = [
        Asking("SELECT 1"),
        Asking("SELECT 1 / 0"),
        Asking("SELECT pg_sleep(20)"),
        Asking("SELECT * FROM pg_authid"),
        Asking("SELECT 2"),
    ]
    one.examination.connection.execute(
        "SELECT set_config('statement_timeout', %s, false)", [str(POINT_LIMITS.statement_ms)]
    )
    judged = judge(one.examination, asked, float("inf"))
    assert [(each.verdict.outcome, each.verdict.text) for each in judged] == [
        ("passed", "so it did"),
        ("unknown", "division by zero (SQLSTATE 22012)"),
        ("unknown", "a statement took longer than 250 ms"),
        ("unknown", "permission denied for table pg_authid (SQLSTATE 42501)"),
        ("passed", "so it did"),
    ]
    assert judged[3].verdict.remedy == f"pgq-ops grants {reader} --tier observe --sql"


def test_what_is_not_permitted_comes_with_the_grant(jobs: Database) -> None:
    class Refused(Asking):
        def check(self, examination: Examination) -> Verdict:
            del examination
            raise NotPermitted("this role may not look", "GRANT it;")

    [judged] = judge(doctor(jobs).examination, [Refused("")], float("inf"))
    assert (judged.verdict.text, judged.verdict.remedy) == ("this role may not look", "GRANT it;")


def test_a_lost_connection_ends_it(jobs: Database) -> None:
    one = doctor(jobs)
    after = Asking("SELECT 1")
    with pytest.raises(Exception, match="terminating connection"):
        judge(one.examination, [Asking("SELECT pg_terminate_backend(pg_backend_pid())"), after], float("inf"))
    assert after.asked == []


def test_no_point_is_begun_once_the_time_is_up(jobs: Database) -> None:
    moments = iter([1.0, 2.0, 3.0])
    asked = [Asking("SELECT 1"), Asking("SELECT 2"), Asking("SELECT 3")]
    judged = judge(doctor(jobs).examination, asked, 2.5, lambda: next(moments))
    assert [one.verdict.text for one in judged] == ["so it did", "so it did", "there was no time left"]
    assert asked[2].asked == []


def test_a_fact_that_could_not_be_read_is_not_asked_for_again(jobs: Database) -> None:
    examination = doctor(jobs).examination
    asked = []

    def reader(connection: object, table: object) -> None:
        del table
        asked.append(1)
        connection.execute("SELECT 1 / 0")  # type: ignore[attr-defined]

    for _ in range(2):
        with pytest.raises(Exception, match="division by zero"):
            examination.fact(reader)
    assert asked == [1]


@pytest.mark.case("M1")
@pytest.mark.parametrize("queued", [False, True], ids=["held", "queued"])
def test_nothing_waits_behind_an_exclusive_lock_on_the_table(
    jobs: Database,
    tmp_path: Path,
    queued: bool,  # noqa: FBT001
) -> None:
    jobs.execute("CREATE EXTENSION pg_stat_statements")
    versions.install(jobs.connect())
    holder = jobs.connect(autocommit=False)
    if queued:
        holder.execute("SELECT * FROM jobs")
        waiter = jobs.connect(autocommit=False)
        waiter.execute("SET lock_timeout = '60s'")
        waiter.pgconn.send_query(b"LOCK TABLE jobs")
        waits = "SELECT count(*) FROM pg_locks WHERE relation = 'jobs'::regclass AND NOT granted"
        wait_until(lambda: jobs.value(waits) == 1, 10, "the lock is waited for")
    else:
        holder.execute("LOCK TABLE jobs")
    began = time.monotonic()
    report = report_of(jobs, tmp_path)
    assert time.monotonic() - began < 4
    [table] = report.tables
    outcomes = {one.id: one.verdict for one in table.judged}
    assert len(outcomes) == len(POINTS)
    assert outcomes["no-lease"].outcome == "passed"
    assert outcomes["claim-index-unfit"].text == "locked by another session just now"
    assert [one.why_not for one in table.planned] == ["locked by another session just now"]
    assert isinstance(report.failure(), DatabaseUnreachable)
    holder.rollback()


@pytest.mark.case("D5")
def test_a_history_that_dead_letters_would_delete_is_told_before_anything_is_reaped(
    database: Database, tmp_path: Path
) -> None:
    create_field_table(database)
    database.execute("""
        CREATE TABLE dead_jobs (LIKE jobs);
        CREATE TABLE job_events (job bigint REFERENCES jobs ON DELETE CASCADE);
    """)
    toml = f'{SMALL}dead_letter_table = "dead_jobs"\n'
    [table] = report_of(database, tmp_path, toml).tables
    found = {finding.id: finding for finding in table.findings}
    assert found["dead-letter-cascade"].severity == "warning"
    assert "job_events" in found["dead-letter-cascade"].summary
    allowed = report_of(database, tmp_path, f"{toml}dead_letter_cascade = true\n").tables[0]
    assert {one.id: str(one.severity) for one in allowed.findings}["dead-letter-cascade"] == "info"
    database.execute("DROP TABLE job_events")
    assert "dead-letter-cascade" not in {one.id for one in report_of(database, tmp_path, toml).tables[0].findings}


def test_a_table_that_cannot_be_bound_keeps_no_other_one_back(jobs: Database, tmp_path: Path) -> None:
    toml = FIELD + FIELD.replace("job_tables.jobs", "job_tables.gone").replace('table = "jobs"', 'table = "gone"')
    report = report_of(jobs, tmp_path, toml)
    assert [bool(one.judged) for one in report.tables] == [True, False]
    assert report.failure() is not None
    gone = report.as_json()["job_tables"][1]
    assert gone["error"]
    assert gone["findings"] is None
    assert "gone  gone  cannot be looked at" in text_of(report)
