"""Names with line breaks in them, in what people are given to paste: each line is a statement, a comment or a command."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.production.naming import quoted as pasted_name
from pgq_ops.checks.wording import command
from pgq_ops.config.writing import toml_text
from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier, literal, plain_name
from pgq_ops.schema.grants import plan, script
from pgq_ops.schema.tier import Tier
from tests.support.binding import bind_toml
from tests.support.inside import run_inside
from tests.support.jobs import reap
from tests.support.sessions import opened

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database
    from tests.support.roles import Roles

NAMES = [
    "a\nb",
    "a\\nb",
    "a\n\"'\\%s {x}$$",
    "-- a\r\nDROP TABLE canary;\n\\! false",
    "\x1b[31m\u202e\u2028\x85\U000e0001",
]
STARTS = (
    "SELECT ",
    "CREATE ",
    "ALTER ",
    "ANALYZE ",
    "VACUUM ",
    "DELETE ",
    "GRANT ",
    "DROP ",
    "REINDEX ",
    "-- ",
    "# ",
    "pgq-ops ",
    "[",
    "mode = ",
    "table = ",
    "lease.",
    "FROM ",
    "WHERE ",
    "ROLLBACK ",
    "timeout = ",
    "max_",
    "version = ",
)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_pasted_means_the_very_object(database: Database, name: str) -> None:
    create, say = pasted(identifier(name)), pasted(literal(name))
    assert create.isprintable()
    assert say.isprintable()
    database.execute(f"CREATE SCHEMA {create}; CREATE TABLE {create}.{create} (id int)")
    [(schema, table)] = database.rows(
        "SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
        " WHERE n.nspname = %s", [name],
    )  # fmt: skip
    assert (schema, table) == (name, name)
    assert database.value(f"SELECT {say}") == name
    assert database.value(f"SELECT relname = {say} FROM pg_class WHERE relname = {say}") is True


@pytest.mark.parametrize("name", NAMES)
def test_settings_of_roles_and_databases_go_to_those(database: Database, make_role: Roles, name: str) -> None:
    role = make_role(f"worker{name}")
    database.execute(f"ALTER ROLE {pasted_name(role)} IN DATABASE {pasted_name(database.name)} SET lock_timeout = '7s'")
    rows = database.rows(
        "SELECT r.rolname, s.setconfig FROM pg_db_role_setting AS s JOIN pg_roles AS r ON r.oid = s.setrole"
    )
    assert (role, ["lock_timeout=7s"]) in rows


@pytest.mark.parametrize("name", NAMES)
def test_a_command_gives_a_shell_the_very_word(name: str) -> None:
    line = command("printf", "%s", name)
    assert line.isprintable()
    assert subprocess.run(["bash", "-c", line], capture_output=True, check=True).stdout.decode() == name  # noqa: S607
    assert command("a", "b c") == shlex.join(["a", "b c"])


class Named:
    """A job table whose schema, columns and name in the configuration are such names."""

    def __init__(self, name: str) -> None:
        fields = ("id", "state", "lease_expires_at", "available_at", "owner", "attempts")
        self.columns = {field: f"{field}{name}" for field in fields}
        self.schema = f"s{name}"
        self.table = pasted_name(self.schema, "jobs")
        states = {"pending": ["new"], "running": ["running"], "done": ["done"], "dead": ["dead"]}
        head = f"[job_tables.{toml_text(name)}"
        lines = [f"{head}]", f"table = {toml_text(plain_name(self.schema, 'jobs'))}", f"{head}.columns]"]
        lines += [f"{field} = {toml_text(column)}" for field, column in self.columns.items()]
        self.toml = "\n".join([*lines, f"{head}.states]", *(f"{state} = {values}" for state, values in states.items())])

    def create(self, database: Database) -> None:
        of = {field: pasted_name(column) for field, column in self.columns.items()}
        database.execute(
            f"CREATE TABLE canary AS SELECT 1 AS there; CREATE SCHEMA {pasted_name(self.schema)}; CREATE TABLE {self.table}"
            f" ({of['id']} int PRIMARY KEY, {of['state']} text, {of['lease_expires_at']} timestamptz, {of['owner']} text,"
            f" {of['available_at']} timestamptz DEFAULT now(), {of['attempts']} int DEFAULT 1);"
            f"INSERT INTO {self.table} SELECT n, 'running', now() - interval '1 h' FROM generate_series(1, 9) AS n;"
            f"INSERT INTO {self.table} VALUES (10, 'new', NULL), (11, 'odd', NULL)"
        )


@pytest.fixture(params=NAMES)
def named(request: pytest.FixtureRequest, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Named:
    made = Named(request.param)
    made.create(database)
    (tmp_path / "pgq-ops.toml").write_text(made.toml, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGQ_OPS_DSN", database.dsn)
    return made


@pytest.mark.parametrize("words", [["doctor", "--json"], ["inspect", "--json"]], ids=" ".join)
def test_each_line_of_each_remedy_is_one_of_ours(
    database: Database, named: Named, capfd: pytest.CaptureFixture[str], words: list[str]
) -> None:
    opened(database, named.schema, f"LOCK TABLE {named.table} IN EXCLUSIVE MODE")
    assert run_inside(words) in {0, 1}
    document = json.loads(capfd.readouterr().out)
    remedies = [one["remedy"] for table in document["job_tables"] for one in table["findings"]]
    assert len(remedies) > 1
    lines = [line for remedy in remedies for line in remedy.split("\n") if line.strip()]
    assert [line for line in lines if not line.startswith(STARTS) or not line.isprintable()] == []


def test_the_grants_are_on_those_names(database: Database, named: Named, make_role: Roles) -> None:
    role = make_role(named.schema)
    lines = script(plan(database.connect(), role, [bind_toml(database, named.toml).table], [Tier.REAP])).splitlines()
    assert [line for line in lines if not line.startswith(STARTS) or not line.isprintable()] == []
    for line in lines:
        database.execute(line)
    assert reap(database, named.toml, role=role).requeued == 9
    assert database.value("SELECT there FROM canary") == 1
