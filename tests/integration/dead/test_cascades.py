"""Foreign keys that follow a job out of the job table: nobody loses a row that nobody agreed to lose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.finding import Severity
from pgq_ops.cli.config_check import checked
from pgq_ops.cli.dead_report import Listed, list_tables
from pgq_ops.cli.reap_lines import lines, question
from pgq_ops.cli.reap_report import reap_tables
from pgq_ops.errors import ConfigError
from pgq_ops.job_table.dead_filter import DeadFilter
from pgq_ops.tasks.reap import Reap
from pgq_ops.tasks.reap_memory import ReapMemory
from tests.support.binding import bind_toml, loaded_of
from tests.support.collecting import collection_of
from tests.support.inspection import as_json, as_text, looked
from tests.support.jobs import FIELD, create_field_table, reap

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database

WANTED = FIELD + 'dead_letter_table = "dead_jobs"\nmax_attempts = 1\n'
ALLOWED = WANTED + "dead_letter_cascade = true\n"
ONLY_READ = WANTED + "enabled = false\n"
CASCADE = "job_events_job_fkey deletes rows of job_events"


def create(database: Database, action: str = "CASCADE") -> None:
    create_field_table(database)
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    database.execute(
        f"CREATE TABLE job_events (job bigint REFERENCES jobs ON DELETE {action}, what text DEFAULT 'tried')"
    )
    database.execute("INSERT INTO jobs (status, lease_until, attempts) VALUES ('running', now() - interval '1 m', 5)")
    database.execute("INSERT INTO job_events (job) SELECT id FROM jobs")


def events(database: Database) -> list[int | None]:
    return [job for (job,) in database.rows("SELECT job FROM job_events")]


@pytest.mark.case("D5")
def test_a_table_whose_history_would_go_with_a_buried_job_is_refused_until_that_is_allowed(database: Database) -> None:
    create(database)
    with pytest.raises(ConfigError, match=CASCADE) as refused:
        reap(database, WANTED)
    assert "reaper.dead_letter_cascade = true" in str(refused.value)
    assert (events(database), database.value("SELECT count(*) FROM dead_jobs")) == ([1], 0)
    assert reap(database, ALLOWED).dead_lettered == 1
    assert (events(database), database.value("SELECT count(*) FROM dead_jobs")) == ([], 1)


@pytest.mark.case("D5")
def test_it_is_said_before_the_mode_is_allowed_and_while_it_is(database: Database, tmp_path: Path) -> None:
    create(database)
    [note] = [note for note in bind_toml(database, ONLY_READ).notes if CASCADE in note]
    assert note.startswith("cannot be reaped: job_tables.jobs.reaper.dead_letter_table")
    for toml, severity in ((ONLY_READ, Severity.WARNING), (ALLOWED, Severity.INFO)):
        seen = looked(tmp_path, toml, database.dsn)
        [finding] = [one for one in seen.tables[0].findings if one.id == "dead-letter-cascade"]
        assert finding.severity is severity
        assert CASCADE in as_text(seen, None)
        [(table, name, definition)] = database.rows(finding.remedy)
        assert (table, name) == ("job_events", "job_events_job_fkey")
        assert "ON DELETE CASCADE" in definition
    [note] = [note for note in bind_toml(database, ALLOWED).notes if CASCADE in note]
    assert note.startswith("job_tables.jobs.reaper.dead_letter_cascade: ")
    plan = reap_tables(loaded_of(ALLOWED, database.dsn), (), include_stale=False, dry_run=True)
    assert f"  with the buried jobs: {CASCADE}" in list(lines(plan))
    assert CASCADE in question(plan)
    assert plan.as_json()["job_tables"][0]["cascades"] == [CASCADE]


@pytest.mark.case("D5")
def test_all_that_only_looks_goes_on_with_the_finding_open_and_only_reaping_is_refused(
    database: Database, tmp_path: Path
) -> None:
    create(database)
    database.execute("INSERT INTO dead_jobs (id, status) VALUES (99, 'dead')")
    seen = looked(tmp_path, WANTED, database.dsn)
    assert (seen.failure(), as_json(seen)[0]["leases"]["expired"]) == (None, 1)
    [finding] = [one for one in seen.tables[0].findings if one.id == "dead-letter-cascade"]
    assert (finding.severity, finding.evidence["allowed"]) == (Severity.WARNING, False)

    collection = collection_of(database, WANTED).healthy()
    assert collection.finding("dead-letter-cascade").severity is Severity.WARNING
    assert collection.values("leases", condition="expired") == {("(null)",): 1}

    report = list_tables(loaded_of(WANTED, database.dsn), (), DeadFilter(), 10)
    assert isinstance(report.tables[0][1], Listed)
    assert [letter.id for letter in report.tables[0][1].letters] == ["99"]

    for dry_run in (True, False):
        reaped = reap_tables(loaded_of(WANTED, database.dsn), (), include_stale=False, dry_run=dry_run)
        failure = reaped.failure()
        assert isinstance(failure, ConfigError)
        assert (failure.exit_code, CASCADE in str(failure)) == (2, True)
    assert (events(database), database.value("SELECT status FROM jobs")) == ([1], "running")


@pytest.mark.case("D5")
@pytest.mark.parametrize(("mode", "code"), [("manage", 2), ("observe", None)])
def test_a_check_of_the_configuration_refuses_it_where_the_mode_would_act(
    database: Database, tmp_path: Path, mode: str, code: int | None
) -> None:
    create(database)
    (tmp_path / "pgq-ops.toml").write_text(
        f'[database]\ndsn = "{database.dsn}"\n[agent]\nmode = "{mode}"\n{WANTED}', encoding="utf-8"
    )
    report = checked(tmp_path / "pgq-ops.toml", offline=False)
    assert (report.error and report.error.exit_code) == code
    assert report.tables[0].bound
    assert [CASCADE in note for note in report.tables[0].notes] == [True]
    if code is not None:
        assert [problem["key"] for problem in report.problems()] == ["job_tables.jobs.reaper.dead_letter_table"]


@pytest.mark.case("D5")
def test_a_foreign_key_that_comes_while_the_agent_remembers_the_table_stops_its_next_pass(database: Database) -> None:
    create(database, "NO ACTION")
    database.execute("TRUNCATE job_events; ALTER TABLE job_events DROP CONSTRAINT job_events_job_fkey")
    task, now = Reap(remembers=True), [1000.0]
    task._memories["jobs"] = ReapMemory(clock=lambda: now[0])
    before = bind_toml(database, WANTED)
    assert task.run(before.connection, before.table, lambda: True).dead_lettered == 1
    database.execute("ALTER TABLE job_events ADD FOREIGN KEY (job) REFERENCES jobs ON DELETE CASCADE")
    database.execute(
        "INSERT INTO jobs (id, status, lease_until, attempts) VALUES (2, 'running', now() - interval '1 m', 5);"
        " INSERT INTO job_events (job) VALUES (2)"
    )
    now[0] += 10
    after = bind_toml(database, WANTED)
    assert task._memories["jobs"].known_standing() is not None
    with pytest.raises(ConfigError, match=CASCADE):
        task.run(after.connection, after.table, lambda: True)
    assert events(database) == [2]


@pytest.mark.case("D5")
@pytest.mark.parametrize(
    ("reference", "told"),
    [
        (
            "ALTER TABLE jobs ADD parent bigint REFERENCES jobs ON DELETE CASCADE",
            "jobs_parent_fkey deletes rows of jobs",
        ),
        (
            """CREATE TABLE steps (id int PRIMARY KEY, job bigint REFERENCES jobs ON DELETE CASCADE);
               ALTER TABLE jobs ADD step int REFERENCES steps ON DELETE CASCADE""",
            "jobs_step_fkey deletes rows of jobs",
        ),
    ],
    ids=["itself", "by way of another"],
)
def test_a_job_that_would_take_other_jobs_with_it_is_never_moved(
    database: Database, tmp_path: Path, reference: str, told: str
) -> None:
    create(database, "NO ACTION")
    database.execute(reference)
    database.execute("CREATE TABLE dead (LIKE jobs)")
    with pytest.raises(ConfigError, match=told):
        reap(database, ALLOWED.replace('"dead_jobs"', '"dead"'))
    assert database.value("SELECT count(*) FROM jobs") == 1
    seen = looked(tmp_path, ALLOWED.replace('"dead_jobs"', '"dead"'), database.dsn)
    [finding] = [one for one in seen.tables[0].findings if one.id == "dead-letter-cascade"]
    assert (finding.severity, "unless" in finding.summary) == (Severity.WARNING, False)
    assert finding.evidence["allowed"] is False


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("SET NULL", "job_events_job_fkey sets columns to NULL in job_events"),
        ("SET DEFAULT", "job_events_job_fkey sets columns to their default in job_events"),
        ("NO ACTION", None),
        ("RESTRICT", None),
    ],
)
def test_what_changes_rows_elsewhere_is_refused_alike_and_what_refuses_the_deletion_is_not(
    database: Database, action: str, told: str | None
) -> None:
    create(database, action)
    if told is not None:
        with pytest.raises(ConfigError, match=told):
            reap(database, WANTED)
    else:
        assert reap(database, WANTED).conflicts == 1
    assert events(database) == [1]


def test_foreign_keys_matter_only_where_jobs_are_moved_away(database: Database) -> None:
    create(database)
    assert reap(database, FIELD + "max_attempts = 1\n").dead_lettered == 1
    assert events(database) == [1]


def test_a_foreign_key_to_one_partition_counts_too(database: Database) -> None:
    create_field_table(database)
    database.execute("""
        CREATE TABLE parts (LIKE jobs, PRIMARY KEY (id)) PARTITION BY RANGE (id);
        CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (100);
        CREATE TABLE dead_jobs (LIKE jobs);
        CREATE TABLE "Odd Events" (job bigint REFERENCES part1 ON DELETE CASCADE)
    """)
    with pytest.raises(ConfigError, match='deletes rows of "Odd Events"'):
        reap(database, WANTED.replace('table = "jobs"', 'table = "parts"'))
