"""The examination as a whole: each point on its own, what the tasks would do, and how it is shown."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.production import connection_headroom, fsync_off, invalid_indexes, lease_mapped, missing_privileges
from pgq_ops.checks.production.judging import POINT_LIMITS, judge
from pgq_ops.checks.production.registry import POINTS, READING
from pgq_ops.checks.production.verdict import Outcome, passed
from pgq_ops.cli import doctor_report
from pgq_ops.cli.doctor_lines import lines
from pgq_ops.cli.doctor_report import examine
from pgq_ops.errors import DatabaseUnreachable, NotPermitted
from pgq_ops.schema import versions
from pgq_ops.stats import plans
from tests.support.agent import wait_until
from tests.support.doctor_points import BY_RUN_AT, YEARS, doctor
from tests.support.inspection import loaded
from tests.support.jobs import FIELD, FIELD_TABLE, SMALL, create_field_table

if TYPE_CHECKING:
    from pathlib import Path

    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.cli.doctor_report import Report
    from tests.support.database import Database
    from tests.support.roles import Roles


def test_a_missing_right_is_told_once(database: Database, tmp_path: Path, make_role: Roles) -> None:
    create_field_table(database)
    role = make_role("blind")
    database.execute(f'GRANT SELECT ON jobs TO "{role}"')
    [table] = examine(loaded(tmp_path, FIELD, database.dsn_as(role)), ()).tables
    told = [finding.id for finding in table.findings if "pg_monitor" in finding.remedy]
    assert told == [missing_privileges.ID]


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


def test_no_fact_is_read_once_the_time_is_up_and_what_is_known_costs_nothing(jobs: Database) -> None:
    moments = iter([1.0, 2.0, 3.0])
    points = (fsync_off, missing_privileges, invalid_indexes, connection_headroom, lease_mapped)
    judged = judge(doctor(jobs).examination, points, 2.5, lambda: next(moments))
    outcomes = [(one.verdict.outcome, one.verdict.in_time) for one in judged]
    assert outcomes == [("finding", True), ("passed", True), ("unknown", False), ("passed", True), ("passed", True)]
    assert judged[2].verdict.text == "there was no time left"


@pytest.mark.parametrize("partitions", [0, 3])
def test_without_time_it_says_how_much_it_did_not_check_and_checks_what_costs_nothing(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partitions: int
) -> None:
    database.execute(BY_RUN_AT if partitions else FIELD_TABLE)
    for name, bounds in list(YEARS.items())[:partitions]:
        database.execute(f"CREATE TABLE {name} PARTITION OF jobs FOR VALUES FROM {bounds}")
    for name in ("_LOOK_SECONDS", "_POINTS_SECONDS"):
        monkeypatch.setattr(doctor_report, name, 0.0)
    report = report_of(database, tmp_path)
    [table] = report.tables
    free = {"no-lease", "no-attempts", "no-backoff-column", "no-dead-state"}
    assert free <= {one.id for one in table.with_outcome(Outcome.PASSED)}
    unchecked = len(table.with_outcome(Outcome.UNKNOWN))
    assert unchecked > 20
    assert f"{unchecked} points could not be checked" in text_of(report)
    assert "nothing is wrong" not in text_of(report)
    assert report.failure() is None


def test_points_that_ask_the_table_come_last_and_not_at_all_where_planning_takes_too_long(
    partitioned: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partitioned.execute("INSERT INTO jobs (status, lease_until) VALUES ('running', now() - interval '1 h')")
    assert {one.ID for one in READING} < {one.ID for one in POINTS}
    monkeypatch.setattr(plans, "_PLANNING_SECONDS_A_TABLE", 10.0)
    report = report_of(partitioned, tmp_path)
    [table] = report.tables
    assert [one.id for one in table.judged] == [point.ID for point in POINTS]
    verdicts = {one.id: one.verdict for one in table.judged}
    assert verdicts["claim-index-unfit"].text == "there was no time left"
    assert "took too long" in verdicts["no-running-index"].text
    assert verdicts["fsync-off"].outcome == "finding"
    assert "expired-leases" in {
        finding.id for finding in table.findings
    }  # the jobs that are stuck are told all the same
    assert "points could not be checked" in text_of(report)


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
    locked = "locked by another session just now"
    assert outcomes["claim-index-unfit"].text == locked
    for point in ("retries-without-end", "no-running-index", "late-heartbeats", "near-the-ceiling"):
        assert locked in outcomes[point].text
        assert "no index leads" not in outcomes[point].text
    assert {one.task: one.why_not for one in table.planned} == {"reaper": locked, "autovacuum": ""}
    # On a machine so busy that the time ran out, that is what is told instead.
    assert isinstance(report.failure(), DatabaseUnreachable) or table.out_of_time
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
