"""`pgq-ops autovacuum` as it is run: what it prints, what it asks, how it ends."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.schema.versions import install
from tests.support.article_tables import LEASE_TABLE
from tests.support.command import PROGRAM, environment, run
from tests.support.jobs import FIELD, create_field_table
from tests.support.storage import options
from tests.support.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database
    from tests.support.roles import Roles

SET = {
    "autovacuum_vacuum_threshold=500",
    "autovacuum_vacuum_scale_factor=0",
    "autovacuum_vacuum_insert_threshold=1000",
    "autovacuum_vacuum_insert_scale_factor=0",
    "autovacuum_analyze_threshold=500",
    "autovacuum_analyze_scale_factor=0",
    "vacuum_truncate=off",
}
BY_DEFAULT = "by default: only a running agent sees what claims cost at how many dead rows"


class Ground:
    """The table `jobs`, described by a file without any `autovacuum` section."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.database, self.folder = database, folder
        create_field_table(database)
        (folder / "pgq-ops.toml").write_text(FIELD)

    def run(self, *arguments: str, role: str | None = None) -> subprocess.CompletedProcess[str]:
        dsn = self.database.dsn if role is None else self.database.dsn_as(role)
        return run("autovacuum", *arguments, cwd=self.folder, variables={"PGQ_OPS_DSN": dsn})

    def table(self, *arguments: str, role: str | None = None) -> dict[str, Any]:
        result = self.run(*arguments, "--json", role=role)
        assert result.returncode == 0, result.stderr
        [table] = json.loads(result.stdout)["job_tables"]
        return table  # type: ignore[no-any-return]

    def terminal(self, *arguments: str) -> Terminal:
        command = [PROGRAM, "autovacuum", *arguments]
        return Terminal(command, self.folder, environment(PGQ_OPS_DSN=self.database.dsn))

    def own(self) -> set[str]:
        return set(options(self.database)[0] or [])


@pytest.fixture
def ground(database: Database, tmp_path: Path) -> Ground:
    return Ground(database, tmp_path)


def test_a_plan_needs_no_section_no_schema_and_no_more_than_select(ground: Ground, make_role: Roles) -> None:
    role = make_role("reader")
    ground.database.execute(f'GRANT SELECT ON jobs TO "{role}"')
    table = ground.table("plan", "--measure", "0s", role=role)
    assert (table["name"], table["table"], table["error"]) == ("jobs", "public.jobs", None)
    assert (table["changed"], table["busy"], table["not_permitted"], table["dry_run"]) == (0, 0, 1, True)
    assert table["dead_tuple_budget"] == 5_000
    [leaf] = table["leaves"]
    assert leaf["changes"][0] == {
        "parameter": "autovacuum_vacuum_threshold",
        "from": None,
        "to": "500",
        "reason": "how fast rows die is not measured yet: the smallest",
    }
    assert (leaf["kept"], leaf["advice"], leaf["outcome"]) == ([], [], "not_permitted")
    assert ground.own() == set()


def test_it_says_on_stderr_that_it_watches_and_what_it_saw(ground: Ground) -> None:
    result = ground.run("plan", "jobs", "--measure", "0.2s")
    assert result.returncode == 0
    assert result.stderr == "watching for 0.2s how fast rows die (--measure 0s: do without)\n"
    naptime = ground.database.value("SELECT setting::int FROM pg_settings WHERE name = 'autovacuum_naptime'")
    reckoned = f"0 updates/s \N{MULTIPLICATION SIGN} {naptime:,} s naptime = 0"
    assert result.stdout.splitlines()[:3] == [
        f"jobs: claims can bear 5,000 dead rows ({BY_DEFAULT})",
        "  public.jobs: 7 parameters to set",
        f"    autovacuum_vacuum_threshold = 500: {reckoned}: 500 is the smallest",
    ]


def test_without_a_file_the_tables_that_look_like_a_preset_are_planned(database: Database, tmp_path: Path) -> None:
    database.execute(LEASE_TABLE)
    arguments = ["autovacuum", "plan", "--measure", "10ms", "--json"]
    planned = run(*arguments, cwd=tmp_path, variables={"PGQ_OPS_DSN": database.dsn})
    document = json.loads(planned.stdout)
    assert [one["table"] for one in document["job_tables"]] == ["public.demo_queue_jobs"]
    assert document["measured_seconds"] == 0.01


def test_the_script_is_for_psql(ground: Ground, tmp_path: Path) -> None:
    result = ground.run("plan", "--sql", "--measure", "0s")
    assert (result.returncode, result.stderr) == (0, "")
    assert 'ALTER TABLE ONLY "public"."jobs" SET (autovacuum_vacuum_threshold = 500,' in result.stdout
    psql = shutil.which("psql")
    if psql is None:
        ground.database.connect().execute(result.stdout.encode())
    else:
        script = tmp_path / "script.sql"
        script.write_text(result.stdout)
        command = [psql, "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-d", ground.database.dsn, "-f", str(script)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
        assert (ran.returncode, ran.stderr) == (0, "")
    assert ground.own() == SET


def test_apply_and_revert_are_each_one_document(ground: Ground) -> None:
    install(ground.database.connect())
    applied = ground.table("apply", "--yes", "--measure", "0s")
    assert (applied["changed"], applied["leaves"][0]["outcome"], "dry_run" in applied) == (1, "changed", False)
    assert ground.own() == SET
    reverted = ground.table("revert", "--yes", "--parameter", "vacuum_truncate", "--table", "jobs")
    assert reverted["leaves"][0]["changes"] == [{"parameter": "vacuum_truncate", "before": "off", "after": None}]
    assert ground.own() == SET - {"vacuum_truncate=off"}


def test_a_terminal_is_asked_with_the_tables_and_a_no_changes_nothing(ground: Ground) -> None:
    install(ground.database.connect())
    with ground.terminal("apply", "--measure", "0s") as asked:
        question = asked.until("[y/N] ")
        asked.press("n\n")
        code, told = asked.ended()
    assert "Set 7 storage parameters of jobs (public.jobs)?" in question
    assert (code, told.replace("\r", ""), ground.own()) == (0, "n\nnothing was changed\n", set())
    with ground.terminal("apply", "jobs", "--measure", "0s") as asked:
        asked.until("[y/N] ")
        asked.press("y\n")
        code, told = asked.ended()
    assert (code, "public.jobs: 7 parameters set" in told, ground.own()) == (0, True, SET)
    with ground.terminal("revert") as asked:
        question = asked.until("[y/N] ")
        asked.press("y\n")
        code, told = asked.ended()
    assert "Put 7 storage parameters of jobs (public.jobs) back?" in question
    assert (code, "public.jobs: 7 parameters put back" in told, ground.own()) == (0, True, set())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("apply",), "add --yes to act, or --dry-run"),
        (("apply", "--yes"), "autovacuum apply needs version"),
        (("revert", "--yes"), "autovacuum revert needs version"),
        (("plan", "--measure", "5"), 'did you mean "5s"?'),
        (("plan", "--sql", "--json"), "exclude each other"),
    ],
)
def test_what_cannot_be_done_ends_with_2_and_says_why(ground: Ground, arguments: tuple[str, ...], message: str) -> None:
    result = ground.run(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert "watching" not in result.stderr
    assert ground.own() == set()
