"""What other people put into rows and names, on a terminal that would obey it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.inside import run_inside

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database
    from tests.support.roles import Roles

# Sets the title, paints, erases (as one C1 character too), turns the direction of writing, begins lines of its own.
MARKS = ["\x1b]0;zq\x07", "\x1b[7mzq", "\x9b2Jzq", "\u202ezq", "\x08zq", "\rzq", "\nzq", "\x85zq"]
HOSTILE = "".join(MARKS)
NAME = '"' + HOSTILE + '"'
TOML = f"""
[job_tables.jobs]
table = {json.dumps(NAME + "." + NAME)}
preset = "lease"
[job_tables.jobs.columns]
queue = {json.dumps(HOSTILE)}
owner = "claimed_by"
[job_tables.jobs.states]
dead = ["dead"]
"""


@pytest.fixture
def hostile_table(database: Database) -> Database:
    text = "'" + HOSTILE + "'"
    database.execute(f"CREATE SCHEMA {NAME}")
    database.execute(
        f"CREATE TABLE {NAME}.{NAME} (id text PRIMARY KEY, status text NOT NULL DEFAULT 'pending',"
        f" available_at timestamptz NOT NULL DEFAULT now(), lease_until timestamptz, claimed_by text,"
        f" claim_version bigint NOT NULL DEFAULT 0, attempts int NOT NULL DEFAULT 0, {NAME} text)"
    )
    database.execute(
        f"INSERT INTO {NAME}.{NAME} (id, status, lease_until, claimed_by, {NAME})"
        f" SELECT {text} || i, 'running', now() - interval '1 minute', {text}, {text} FROM generate_series(1, 3) AS i"
    )
    database.execute(f"INSERT INTO {NAME}.{NAME} (id, {NAME}) VALUES ('2', {text})")
    database.execute(
        f"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION {text}; END $$;"
        f"CREATE TRIGGER refuse BEFORE UPDATE ON {NAME}.{NAME} FOR EACH ROW EXECUTE FUNCTION refuse()"
    )
    return database


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    # By its class: pytest puts another object there before the test is called.
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
    monkeypatch.setenv("TERM", "xterm")
    return capsys


def harm(text: str, *, own_lines: bool = True) -> list[str]:
    """The marks that the text holds; where `own_lines` is false, not the one that only begins a line."""
    return [mark for mark in MARKS if mark in text and (own_lines or mark != "\nzq")]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["inspect"], 0),
        (["reap", "--yes"], 0),
        (["metrics"], 0),
        (["config", "check"], 0),
        (["config", "show"], 0),
        (["grants", "{role}", "--sql"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_nothing_that_a_terminal_would_obey_is_printed(  # noqa: PLR0913, PLR0917  # fixtures
    hostile_table: Database,
    make_role: Roles,
    terminal: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    code: int,
) -> None:
    (tmp_path / "pgq-ops.toml").write_text(TOML, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGQ_OPS_DSN", hostile_table.dsn)
    role = make_role("reader")
    assert run_inside([word.replace("{role}", role) for word in command]) == code
    output = "".join(terminal.readouterr())
    assert "zq" in output
    # In a statement, a name that holds a line break must be whole.
    assert harm(output, own_lines="--sql" not in command) == []
    assert sys.stdout.isatty()


@pytest.mark.parametrize("command", [["inspect"], ["reap", "--yes"], ["metrics"], ["config", "check"]], ids=" ".join)
def test_an_error_s_text_is_no_less_harmless(  # noqa: PLR0913, PLR0917  # fixtures
    hostile_table: Database,
    make_role: Roles,
    terminal: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
) -> None:
    (tmp_path / "pgq-ops.toml").write_text(TOML, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGQ_OPS_DSN", hostile_table.dsn_as(make_role("stranger")))
    assert run_inside(command) == 3
    output = "".join(terminal.readouterr())
    assert "zq" in output
    # With the GRANT that would help, in which a name that holds a line break must be whole.
    assert harm(output, own_lines=False) == []


def test_a_pipe_gets_statements_byte_by_byte_as_they_must_be_run(
    hostile_table: Database,
    make_role: Roles,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "pgq-ops.toml").write_text(TOML, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGQ_OPS_DSN", hostile_table.dsn)
    role = make_role("reader")
    assert run_inside(["grants", role, "--sql"]) == 0
    hostile_table.execute(capsys.readouterr().out)
    readable = "SELECT has_table_privilege(%s, %s, 'SELECT') OR has_any_column_privilege(%s, %s, 'SELECT')"
    assert hostile_table.value(readable, [role, f"{NAME}.{NAME}"] * 2)
