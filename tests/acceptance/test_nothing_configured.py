"""A command in the wrong folder: what is missing is said, with where it was looked for."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import pytest

from tests.support.article_tables import LEASE_TABLE
from tests.support.command import run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database

NO_FILE = "there is no pgq-ops.toml in this folder, and PGQ_OPS_CONFIG is not set"
NO_SERVER = {"PGHOST": "127.0.0.1", "PGPORT": "1"}


@pytest.mark.parametrize("command", [["inspect"], ["metrics"], ["reap", "--yes"], ["install", "--yes"]])
def test_a_server_that_is_not_there_may_be_one_that_nobody_named(command: list[str], tmp_path: Path) -> None:
    result = run(*command, cwd=tmp_path, variables=NO_SERVER)
    assert (result.returncode, result.stdout) == (3, "")
    assert f"{NO_FILE}, nor is PGQ_OPS_DSN" in result.stderr


def test_nothing_is_missing_where_a_dsn_or_a_file_was_given(tmp_path: Path) -> None:
    given = run("inspect", cwd=tmp_path, variables={"PGQ_OPS_DSN": "host=127.0.0.1 port=1"})
    (tmp_path / "pgq-ops.toml").write_text('[database]\nowner_role = "x"\n')
    read = run("inspect", cwd=tmp_path, variables=NO_SERVER)
    for result in (given, read):
        assert result.returncode == 3
        assert "pgq-ops.toml" not in result.stderr


@pytest.mark.parametrize("command", [["reap", "--yes"], ["reap", "jobs", "--yes"], ["grants", "x", "--sql"], ["agent"]])
def test_a_job_table_is_missing_with_the_file(command: list[str], database: Database, tmp_path: Path) -> None:
    variables = {"PGQ_OPS_DSN": database.dsn}
    result = run(*command, cwd=tmp_path, variables=variables)
    assert (result.returncode, result.stdout) == (2, "")
    assert f"no job table is configured: {NO_FILE}" in result.stderr

    (tmp_path / "pgq-ops.toml").write_text('[agent]\nmode = "observe"\n')
    result = run(*command, cwd=tmp_path, variables=variables)
    assert (result.returncode, result.stdout) == (2, "")
    assert "no job table is configured: add a section [job_tables.NAME] to pgq-ops.toml" in result.stderr


@pytest.mark.parametrize("more", [[], ["--offline"]])
def test_a_check_of_nothing_is_not_passed(more: list[str], database: Database, tmp_path: Path) -> None:
    database.execute(LEASE_TABLE)
    variables = {"PGQ_OPS_DSN": database.dsn}
    result = run("config", "check", *more, cwd=tmp_path, variables=variables)
    assert (result.returncode, result.stdout) == (2, "")
    assert f"there is nothing to check: no job table is configured: {NO_FILE}" in result.stderr
    document = json.loads(run("config", "check", "--json", *more, cwd=tmp_path, variables=variables).stdout)
    assert (document["path"], document["valid"], document["job_tables"]) == (None, False, [])
    table = {"PGQ_OPS_JOB_TABLES__EMAILS__TABLE": "demo_queue_jobs", "PGQ_OPS_JOB_TABLES__EMAILS__PRESET": "lease"}
    assert run("config", "check", *more, cwd=tmp_path, variables=variables | table).returncode == 0


def toml_below(lines: list[str], first: str) -> str:
    """The lines after the one that contains `first`, up to the first that is no TOML of one section."""
    [start] = [number for number, line in enumerate(lines, 1) if first in line]
    section = [line.strip() for line in lines[start : start + 3]]
    assert section[0].startswith("[job_tables.")
    return "\n".join(section)


def test_a_remedy_for_a_table_that_was_found_without_a_file_begins_with_the_file_to_write(
    database: Database, tmp_path: Path
) -> None:
    database.execute(LEASE_TABLE)
    database.execute('ALTER TABLE demo_queue_jobs RENAME TO "Jobs, 2%"')
    database.execute(
        """INSERT INTO "Jobs, 2%" (payload, status, lease_until)
           VALUES ('{}', 'running', now() - interval '9 m'), ('{}', 'running', '2020-1-1')"""
    )
    variables = {"PGQ_OPS_DSN": database.dsn}
    [table] = json.loads(run("inspect", "--json", cwd=tmp_path, variables=variables).stdout)["job_tables"]
    remedies = {one["id"]: one["remedy"].splitlines() for one in table["findings"]}
    for name in ("expired-leases", "stale-leases"):
        file = toml_below(remedies[name], "in pgq-ops.toml:")
        (tmp_path / "pgq-ops.toml").write_text(file, encoding="utf-8")
        [command, *_] = [line for line in remedies[name] if line.startswith("pgq-ops reap")]
        result = run(*shlex.split(command)[1:], "--yes", cwd=tmp_path, variables=variables)
        assert (result.returncode, result.stderr) == (0, "")
    [table] = json.loads(run("inspect", "--json", cwd=tmp_path, variables=variables).stdout)["job_tables"]
    [stale] = [one["remedy"] for one in table["findings"] if one["id"] == "stale-leases"]
    assert "pgq-ops.toml" not in stale


@pytest.mark.parametrize("names", [[], ["demo_queue_jobs"]])
def test_what_acts_without_a_file_says_what_to_write_for_the_tables_that_look_like_a_preset(
    database: Database, tmp_path: Path, names: list[str]
) -> None:
    database.execute(LEASE_TABLE)
    variables = {"PGQ_OPS_DSN": database.dsn}
    refused = run("reap", *names, "--yes", cwd=tmp_path, variables=variables)
    assert refused.returncode == 2
    file = toml_below(refused.stderr.splitlines(), "by its columns this is a job table")
    (tmp_path / "pgq-ops.toml").write_text(file, encoding="utf-8")
    result = run("reap", *names, "--yes", cwd=tmp_path, variables=variables)
    assert (result.returncode, result.stderr) == (0, "")


def test_without_such_a_table_there_is_an_example_that_can_be_read(database: Database, tmp_path: Path) -> None:
    variables = {"PGQ_OPS_DSN": database.dsn}
    refused = run("reap", "--yes", cwd=tmp_path, variables=variables)
    (tmp_path / "pgq-ops.toml").write_text(toml_below(refused.stderr.splitlines(), "such as:"), encoding="utf-8")
    assert run("config", "check", "--offline", cwd=tmp_path, variables=variables).returncode == 0
