"""Two job tables of which one cannot be worked on: the other one is, by every command, and the error is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.article_tables import LEASE_TABLE
from tests.support.command import run
from tests.support.jobs import FIELD, create_field_table, statuses

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database
    from tests.support.roles import Roles

MISSING = '[job_tables.emails]\ntable = "demo_queue_job"\npreset = "lease"\n'
EMAILS = MISSING.replace("demo_queue_job", "demo_queue_jobs")
STRANDED = "INSERT INTO jobs (status, lease_until, attempts) VALUES ('running', now() - interval '1 minute', 1)"


@pytest.fixture
def folder(database: Database, tmp_path: Path) -> Path:
    create_field_table(database)
    database.execute(STRANDED)
    (tmp_path / "pgq-ops.toml").write_text(MISSING + FIELD)
    return tmp_path


def test_reap_takes_back_the_leases_of_the_healthy_one(database: Database, folder: Path) -> None:
    variables = {"PGQ_OPS_DSN": database.dsn}
    planned = run("reap", "--dry-run", cwd=folder, variables=variables)
    assert (planned.returncode, planned.stdout) == (2, "jobs: 1 would be requeued, 0 would be buried\n")
    result = run("reap", "--yes", "--json", cwd=folder, variables=variables)
    assert result.returncode == 2
    assert "job_tables.emails.table" in result.stderr
    broken, healthy = json.loads(result.stdout)["job_tables"]
    assert (healthy["name"], healthy["requeued"], healthy["error"]) == ("jobs", 1, None)
    assert broken.keys() == healthy.keys()
    assert (broken["name"], broken["requeued"]) == ("emails", None)
    assert "demo_queue_job" in broken["error"]
    assert statuses(database) == {"pending": 1}


def test_metrics_are_those_of_the_healthy_one(database: Database, folder: Path) -> None:
    result = run("metrics", cwd=folder, variables={"PGQ_OPS_DSN": database.dsn})
    assert result.returncode == 2
    assert "job_tables.emails.table" in result.stderr
    assert 'pgqops_jobs{database="' in result.stdout
    assert 'job_table="emails"' not in result.stdout


def test_grants_are_given_on_the_healthy_one(database: Database, make_role: Roles, folder: Path) -> None:
    role = make_role("agent")
    result = run("grants", role, "--yes", "--json", cwd=folder, variables={"PGQ_OPS_DSN": database.dsn})
    assert result.returncode == 2
    assert "job_tables.emails.table" in result.stderr
    broken, healthy = json.loads(result.stdout)["job_tables"]
    assert (healthy["name"], healthy["error"], broken["name"]) == ("jobs", None, "emails")
    assert "demo_queue_job" in broken["error"]
    assert database.value("SELECT has_any_column_privilege(%s, 'jobs', 'SELECT')", [role])


@pytest.mark.parametrize("command", [["reap", "--yes"], ["metrics"], ["inspect"], ["config", "check"]])
def test_every_error_is_told_also_of_another_kind(
    database: Database, make_role: Roles, folder: Path, command: list[str]
) -> None:
    database.execute(LEASE_TABLE)
    (folder / "pgq-ops.toml").write_text(MISSING + EMAILS.replace("emails", "mails"))
    variables = {"PGQ_OPS_DSN": database.dsn_as(make_role("stranger"))}
    result = run(*command, cwd=folder, variables=variables)
    assert result.returncode == 2
    assert "job_tables.emails.table" in result.stderr
    assert "GRANT SELECT" in result.stderr


def test_inspect_tells_the_error_once(database: Database, folder: Path) -> None:
    result = run("inspect", cwd=folder, variables={"PGQ_OPS_DSN": database.dsn})
    assert result.returncode == 2
    assert "emails: cannot be looked at" in result.stdout
    assert (result.stdout + result.stderr).count("job_tables.emails.table") == 1


def test_a_statement_that_fails_on_one_table_does_not_keep_a_plan_from_the_next_and_ends_with_3(
    database: Database, folder: Path
) -> None:
    database.execute(LEASE_TABLE)
    database.execute("INSERT INTO demo_queue_jobs (payload) VALUES ('{}')")
    wrong = '[job_tables.emails.columns]\nmax_attempts = { sql = "1 / (attempts - attempts)" }\n'
    database.execute("UPDATE demo_queue_jobs SET status = 'running', lease_until = now() - interval '1 minute'")
    (folder / "pgq-ops.toml").write_text(EMAILS + wrong + FIELD)
    variables = {"PGQ_OPS_DSN": database.dsn}
    read = run("reap", "--dry-run", cwd=folder, variables=variables)
    assert (read.returncode, read.stdout) == (3, "jobs: 1 would be requeued, 0 would be buried\n")
    assert "division by zero" in read.stderr
