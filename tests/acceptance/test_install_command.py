"""`pgq-ops install` and `pgq-ops grants`, as an administrator runs them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from typing import TYPE_CHECKING

from pgq_ops.schema.versions import newest, versions
from tests.support.article_tables import LEASE_TABLE
from tests.support.command import PROGRAM, environment, run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database
    from tests.support.roles import Roles

EMAILS = '[job_tables.emails]\ntable = "demo_queue_jobs"\npreset = "lease"\n'
ALL = ", ".join(f"{version.number:04d}_{version.name}" for version in versions())
IS_THERE = "SELECT count(*) FROM pg_namespace WHERE nspname = 'pgq_ops'"


def test_installing_says_what_it_did_and_then_that_there_is_nothing_to_do(database: Database, tmp_path: Path) -> None:
    variables = {"PGQ_OPS_DSN": database.dsn}
    first = run("install", "--yes", cwd=tmp_path, variables=variables)
    assert (first.returncode, first.stdout) == (0, f"applied {ALL} of the schema pgq_ops\n")
    again = run("install", cwd=tmp_path, variables=variables)
    assert (again.returncode, again.stdout) == (
        0,
        f"the schema pgq_ops is there in version {newest()}: nothing to do\n",
    )


def test_a_dry_run_installs_nothing_and_has_the_shape_of_the_real_one(database: Database, tmp_path: Path) -> None:
    variables = {"PGQ_OPS_DSN": database.dsn}
    planned = run("install", "--dry-run", "--json", cwd=tmp_path, variables=variables)
    assert json.loads(planned.stdout) == {
        "schema": "pgq_ops",
        "version_before": None,
        "version": None,
        "applied": ALL.split(", "),
        "dry_run": True,
    }
    assert database.value(IS_THERE) == 0
    done = run("install", "--yes", "--json", cwd=tmp_path, variables=variables)
    assert json.loads(done.stdout) == {
        "schema": "pgq_ops",
        "version_before": None,
        "version": newest(),
        "applied": ALL.split(", "),
    }


def test_without_a_terminal_and_yes_nothing_is_installed(database: Database, tmp_path: Path) -> None:
    result = run("install", cwd=tmp_path, variables={"PGQ_OPS_DSN": database.dsn})
    assert (result.returncode, result.stdout) == (2, "")
    assert "add --yes to act, or --dry-run" in result.stderr
    assert database.value(IS_THERE) == 0


def test_on_a_terminal_the_person_is_asked(database: Database, tmp_path: Path) -> None:
    def answer(text: bytes) -> tuple[int, str, str]:
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [PROGRAM, "install"],
            cwd=tmp_path,
            env=environment(PGQ_OPS_DSN=database.dsn),
            stdin=theirs,
            stderr=theirs,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            os.write(ours, text)
            output, _ = process.communicate(timeout=60)
            told = os.read(ours, 10_000).decode()
        os.close(theirs)
        os.close(ours)
        return process.returncode, output, told

    code, output, told = answer(b"n\n")
    assert (code, output) == (0, "")
    assert told.endswith("nothing was changed\r\n")
    assert "Error" not in told
    assert database.value(IS_THERE) == 0
    assert answer(b"y\n")[:2] == (0, f"applied {ALL} of the schema pgq_ops\n")
    assert database.value(IS_THERE) == 1


def test_a_failure_of_the_database_s_own_is_a_failed_action_and_no_wrong_usage(
    database: Database, tmp_path: Path
) -> None:
    database.execute("""
        CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'no changes on Fridays'; END $$
    """)
    database.execute("CREATE EVENT TRIGGER refuse ON ddl_command_start EXECUTE FUNCTION refuse()")
    result = run("install", "--yes", cwd=tmp_path, variables={"PGQ_OPS_DSN": database.dsn})
    assert (result.returncode, result.stdout) == (4, "")
    assert "no changes on Fridays" in result.stderr
    assert "internal error" not in result.stderr


def test_the_script_is_printed_without_any_database(tmp_path: Path) -> None:
    result = run("install", "--sql", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert "CREATE TABLE pgq_ops.reap_log" in result.stdout


def test_a_schema_from_the_future_is_refused(database: Database, tmp_path: Path) -> None:
    variables = {"PGQ_OPS_DSN": database.dsn}
    run("install", "--yes", cwd=tmp_path, variables=variables)
    database.execute("INSERT INTO pgq_ops.schema_version VALUES (999, 'later')")
    result = run("install", "--yes", cwd=tmp_path, variables=variables)
    assert (result.returncode, result.stdout) == (2, "")
    assert "upgrade pgq-ops" in result.stderr


def test_grants_are_printed_tried_and_run(database: Database, make_role: Roles, tmp_path: Path) -> None:
    database.execute(LEASE_TABLE)
    (tmp_path / "pgq-ops.toml").write_text(EMAILS)
    role, variables = make_role("agent"), {"PGQ_OPS_DSN": database.dsn}
    may_update = "SELECT has_column_privilege(%s, 'demo_queue_jobs', 'status', 'UPDATE')"

    printed = run("grants", role, "--tier", "reap", "--sql", cwd=tmp_path, variables=variables)
    assert printed.returncode == 0
    update = f'ON TABLE "public"."demo_queue_jobs" TO "{role}";'
    assert [line for line in printed.stdout.splitlines() if line.startswith("GRANT UPDATE") and line.endswith(update)]
    planned = run("grants", role, "--tier", "reap", "--dry-run", "--json", cwd=tmp_path, variables=variables)
    document = json.loads(planned.stdout)
    assert (document["role"], document["tiers"], document["dry_run"]) == (role, ["reap"], True)
    assert not database.value(may_update, [role])

    refused = run("grants", role, "--tier", "reap", cwd=tmp_path, variables=variables)
    assert refused.returncode == 2
    assert not database.value(may_update, [role])
    done = run("grants", role, "--tier", "reap", "--yes", "--json", cwd=tmp_path, variables=variables)
    assert json.loads(done.stdout)["grants"] == document["grants"]
    assert "dry_run" not in json.loads(done.stdout)
    assert database.value(may_update, [role])


def test_grants_for_nobody_or_without_job_tables_are_refused(database: Database, tmp_path: Path) -> None:
    variables = {"PGQ_OPS_DSN": database.dsn}
    none = run("grants", "agent", "--sql", cwd=tmp_path, variables=variables)
    assert (none.returncode, none.stdout) == (2, "")
    assert "no job table is configured" in none.stderr
    database.execute(LEASE_TABLE)
    (tmp_path / "pgq-ops.toml").write_text(EMAILS)
    nobody = run("grants", "nobody-of-this-name", "--sql", cwd=tmp_path, variables=variables)
    assert (nobody.returncode, nobody.stdout) == (2, "")
    assert 'CREATE ROLE "nobody-of-this-name" LOGIN;' in nobody.stderr


def test_who_may_not_grant_is_told_so_with_exit_code_3(database: Database, make_role: Roles, tmp_path: Path) -> None:
    database.execute(LEASE_TABLE)
    (tmp_path / "pgq-ops.toml").write_text(EMAILS)
    role, junior = make_role("agent"), make_role("junior")
    database.execute(f"GRANT SELECT ON demo_queue_jobs TO {junior}")
    result = run("grants", role, "--yes", cwd=tmp_path, variables={"PGQ_OPS_DSN": database.dsn_as(junior)})
    assert result.returncode == 3
    assert "could not run GRANT" in result.stderr
    assert not database.value("SELECT has_any_column_privilege(%s, 'demo_queue_jobs', 'SELECT')", [role])


def test_the_owner_grants_what_an_owner_can_and_is_told_the_rest_with_exit_code_4(
    database: Database, make_role: Roles, tmp_path: Path
) -> None:
    database.execute(LEASE_TABLE)
    (tmp_path / "pgq-ops.toml").write_text(EMAILS)
    role, owner = make_role("agent"), make_role("owner")
    database.execute(f"ALTER TABLE demo_queue_jobs OWNER TO {owner}")
    variables = {"PGQ_OPS_DSN": database.dsn_as(owner)}
    result = run("grants", role, "--yes", cwd=tmp_path, variables=variables)
    assert result.returncode == 4
    granted = [line for line in result.stdout.splitlines() if line.startswith("granted: ")]
    assert [line.split()[:3] for line in granted] == [["granted:", "GRANT", "SELECT"]]
    assert f'could not run GRANT pg_monitor TO "{role}"' in result.stderr
    assert database.value("SELECT has_column_privilege(%s, 'demo_queue_jobs', 'status', 'SELECT')", [role])
    again = run("grants", role, "--tier", "reap", "--yes", "--json", cwd=tmp_path, variables=variables)
    assert again.returncode == 4
    document = json.loads(again.stdout)
    assert any(statement.startswith("GRANT UPDATE") for statement in document["granted"])
    assert [one["statement"] for one in document["refused"]] == [f'GRANT pg_monitor TO "{role}"']
