"""`pgq-ops reap` on a terminal: what it asks, and what it says where there is nothing to ask."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.command import PROGRAM, environment, run
from tests.support.jobs import FIELD, create_field_table, statuses
from tests.support.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database

STRANDED = """
INSERT INTO jobs (status, lease_until, attempts)
SELECT 'running', now() - %(ago)s::interval, n - 1 FROM generate_series(1, %(n)s) AS n
"""


@pytest.fixture
def folder(database: Database, tmp_path: Path) -> Path:
    create_field_table(database)
    database.execute("CREATE TABLE others (LIKE jobs INCLUDING ALL)")
    others = FIELD.replace("job_tables.jobs", "job_tables.others").replace('table = "jobs"', 'table = "others"')
    (tmp_path / "pgq-ops.toml").write_text(FIELD + others)
    return tmp_path


def reaping(folder: Path, dsn: str, *arguments: str) -> Terminal:
    return Terminal([PROGRAM, "reap", *arguments], folder, environment(PGQ_OPS_DSN=dsn))


def test_the_question_names_tables_and_numbers_and_a_no_is_no_error(database: Database, folder: Path) -> None:
    database.execute(STRANDED, {"n": 6, "ago": "1 minute"})
    with reaping(folder, database.dsn) as terminal:
        asked = terminal.until("[y/N] ")
        terminal.press("n\n")
        code, told = terminal.ended()
    assert "Take back the expired leases of jobs (5 to requeue, 1 to bury)?" in asked
    assert (code, told.replace("\r", "")) == (0, "n\nnothing was changed\n")
    assert statuses(database) == {"running": 6}
    with reaping(folder, database.dsn) as terminal:
        terminal.until("[y/N] ")
        terminal.press("y\n")
        code, told = terminal.ended()
    assert code == 0
    assert "jobs: 5 were requeued, 1 was buried" in told
    assert "others: no expired lease to take back" in told
    assert statuses(database) == {"pending": 5, "dead": 1}


def test_nothing_to_take_back_is_said_and_not_asked(database: Database, folder: Path) -> None:
    with reaping(folder, database.dsn) as terminal:
        code, told = terminal.ended()
    assert code == 0
    assert told.replace("\r", "") == "jobs: no expired lease to take back\nothers: no expired lease to take back\n"
    with reaping(folder, database.dsn, "jobs", "--json") as terminal:
        _, told = terminal.ended()
    [table] = json.loads(told)["job_tables"]
    assert (table["requeued"], table["error"]) == (0, None)
    assert "dry_run" not in table


def test_without_a_terminal_nothing_is_asked_even_where_there_is_nothing(database: Database, folder: Path) -> None:
    result = run("reap", cwd=folder, variables={"PGQ_OPS_DSN": database.dsn})
    assert (result.returncode, result.stdout) == (2, "")
    assert "add --yes to act, or --dry-run" in result.stderr


def test_stale_leases_that_are_counted_in_are_not_pointed_to(database: Database, folder: Path) -> None:
    database.execute(STRANDED, {"n": 1, "ago": "30 days"})
    variables = {"PGQ_OPS_DSN": database.dsn}
    without = run("reap", "jobs", "--dry-run", cwd=folder, variables=variables)
    assert "1 is stale (expired too long ago to be taken unasked): pgq-ops reap jobs --include-stale" in without.stdout
    with_them = run("reap", "jobs", "--include-stale", "--dry-run", cwd=folder, variables=variables)
    assert with_them.stdout == "jobs: 1 would be requeued, 0 would be buried\n"
