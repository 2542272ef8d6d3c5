"""Names, labels and values that are SQL, placeholders or places themselves: they stay names, labels and values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import psycopg
import pytest

from pgq_ops.config.load import load
from pgq_ops.errors import ConfigError
from pgq_ops.schema.grants import apply, plan, script
from pgq_ops.schema.tier import Tier
from tests.support.binding import bind_toml
from tests.support.collecting import collection_of
from tests.support.inside import run_inside
from tests.support.jobs import reap

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database
    from tests.support.roles import Roles

HOSTILE = [
    "x\"'; DROP TABLE canary; --",
    "x\\'*/; DROP TABLE canary; /* ) OR (true",
    "%s %(worker)s %% 100% {table} {} {0} {{x}}",
    "$1 $$ $x$ \n; DROP TABLE canary;\n\u2019\u02bc",
]


def quoted(*parts: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


class Names:
    """Everything that can have a name of somebody's choice, each with the hostile one in it."""

    def __init__(self, hostile: str) -> None:
        self.hostile = hostile
        self.schema, self.table, self.dead, self.leaf = (f"{letter}{hostile}" for letter in "stdl")
        self.id, self.state, self.owner, self.queue = (f"{letter}{hostile}" for letter in "ciow")
        self.pending, self.running, self.done, self.buried = (f"{letter}{hostile}" for letter in "prfb")

    def create(self, database: Database) -> None:
        """The table, with an enum for its states, partitioned by its id, and a dead-letter table."""
        kind, table = quoted(self.schema, f"e{self.hostile}"), quoted(self.schema, self.table)
        labels = ", ".join(map(text, (self.pending, self.running, self.done, self.buried)))
        database.execute("CREATE TABLE canary AS SELECT 1 AS still_here")
        database.execute(f"CREATE SCHEMA {quoted(self.schema)}; CREATE TYPE {kind} AS ENUM ({labels})")
        database.execute(
            f"CREATE TABLE {table} ({quoted(self.id)} text PRIMARY KEY, {quoted(self.state)} {kind} NOT NULL,"
            f" {quoted(self.owner)} text, {quoted(self.queue)} text, available_at timestamptz DEFAULT now(),"
            f" lease_until timestamptz, attempts int DEFAULT 1) PARTITION BY LIST ({quoted(self.id)})"
        )
        leaves = [f"IN ({text(self.hostile)})", f"IN ({text(self.hostile + '2')}, 'other', 'alive')"]
        for number, values in enumerate(leaves):
            leaf = quoted(self.schema, f"{number}{self.leaf}")
            database.execute(f"CREATE TABLE {leaf} PARTITION OF {table} FOR VALUES {values}")
        database.execute(f"CREATE TABLE {quoted(self.schema, self.dead)} (LIKE {table})")
        database.execute(
            f"CREATE INDEX ON {table} ({quoted(self.id)}) WHERE {quoted(self.state)} = {text(self.running)}"
        )
        for name, queue, lease in (
            (self.hostile, self.hostile, "-1 minute"),
            (f"{self.hostile}2", f"{self.hostile}2", "-1 minute"),
            ("other", None, "-1 minute"),
            ("alive", self.hostile, "1 hour"),
        ):
            row = ", ".join(map(text, (name, self.running, self.hostile)))
            lease_until = f"now() + interval '{lease}'"
            of_queue = "NULL" if queue is None else text(queue)
            database.execute(f"INSERT INTO {table} VALUES ({row}, {of_queue}, now(), {lease_until})")

    def toml(self) -> str:
        """The mapping, and a policy of its own for the hostile queue: its jobs are buried at their first death."""
        return f"""
            [job_tables.{json.dumps(self.hostile)}]
            table = {json.dumps(quoted(self.schema, self.table))}
            [job_tables.{json.dumps(self.hostile)}.columns]
            id = {json.dumps(self.id)}
            state = {json.dumps(self.state)}
            owner = {json.dumps(self.owner)}
            queue = {json.dumps(self.queue)}
            available_at = "available_at"
            lease_expires_at = "lease_until"
            attempts = "attempts"
            [job_tables.{json.dumps(self.hostile)}.states]
            pending = [{json.dumps(self.pending)}]
            running = [{json.dumps(self.running)}]
            done = [{json.dumps(self.done)}]
            dead = [{json.dumps(self.buried)}]
            [job_tables.{json.dumps(self.hostile)}.claim]
            order = [{json.dumps(quoted(self.id))}]
            [job_tables.{json.dumps(self.hostile)}.reaper]
            dead_letter_table = {json.dumps(quoted(self.schema, self.dead))}
            [job_tables.{json.dumps(self.hostile)}.queues.{json.dumps(self.hostile)}]
            reaper.max_attempts = 1
        """

    def states(self, database: Database) -> dict[str, str]:
        """The state of each job that is in the table."""
        query = f"SELECT {quoted(self.id)}, {quoted(self.state)}::text FROM {quoted(self.schema, self.table)}"
        return dict(database.rows(query))


def run_pasted(database: Database, statement: str, names: Names) -> None:
    """Run a statement that a person would paste. A name that holds a line break is not found by it."""
    try:
        database.execute(statement)
    except psycopg.errors.InvalidSchemaName:
        assert "\n" in names.hostile


@pytest.fixture(params=HOSTILE, ids=range(len(HOSTILE)))
def names(request: pytest.FixtureRequest, database: Database) -> Names:
    made = Names(request.param)
    made.create(database)
    return made


@pytest.mark.case("C1")
def test_a_pass_takes_exactly_the_expired_jobs_under_their_queue_s_policy(database: Database, names: Names) -> None:
    result = reap(database, names.toml())
    assert (result.requeued, result.dead_lettered, result.conflicts, result.busy) == (2, 1, 0, ())
    assert names.states(database) == {
        f"{names.hostile}2": names.pending,
        "other": names.pending,
        "alive": names.running,
    }
    dead = f"SELECT {quoted(names.id)}, {quoted(names.owner)} FROM {quoted(names.schema, names.dead)}"
    assert database.rows(dead) == [(names.hostile, names.hostile)]
    assert database.value("SELECT still_here FROM canary") == 1


@pytest.mark.case("C1")
def test_a_look_counts_the_jobs_and_each_statement_of_its_remedies_can_be_run(database: Database, names: Names) -> None:
    seen = collection_of(database, names.toml())
    found = seen.collect(reaping=True)
    assert found.failures == ()
    expired = seen.values("leases", condition="expired")
    assert sum(expired.values()) == 3
    assert len([queue for (queue,), number in expired.items() if number]) == 3
    assert found.findings
    for finding in found.findings:
        for line in finding.remedy.splitlines():
            if line.startswith(("SELECT", "CREATE")):
                run_pasted(database, line, names)
    assert database.value("SELECT still_here FROM canary") == 1


@pytest.mark.case("C1")
def test_the_grants_are_exactly_on_those_names_and_suffice(database: Database, names: Names, make_role: Roles) -> None:
    role = make_role("agent")
    table = bind_toml(database, names.toml()).table
    grants = plan(database.connect(), role, [table], [Tier.REAP])
    database.execute(script(grants))
    assert apply(database.connect(), grants).error is None
    result = reap(database, names.toml(), role=role)
    assert (result.requeued, result.dead_lettered) == (2, 1)
    assert database.value("SELECT still_here FROM canary") == 1
    assert not database.value("SELECT has_any_column_privilege(%s, 'canary', 'SELECT')", [role])


@pytest.mark.parametrize("key", ['timezone = "UTC\'; DROP TABLE canary"', "timezone = \"UTC' AT TIME ZONE 'X\""])
def test_a_time_zone_is_one_that_exists(tmp_path: Path, key: str) -> None:
    (tmp_path / "pgq-ops.toml").write_text(f"[database]\n{key}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="is not a known time zone"):
        load(tmp_path / "pgq-ops.toml", {}, {})


@pytest.mark.parametrize("command", [["inspect"], ["metrics"], ["reap", "--yes"]], ids=" ".join)
def test_names_on_the_command_line_are_looked_up_and_not_run(
    database: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    names = Names("ordinary")
    names.create(database)
    (tmp_path / "pgq-ops.toml").write_text(names.toml(), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGQ_OPS_DSN", database.dsn)
    for hostile in HOSTILE:
        assert run_inside([*command, "--", hostile]) == 2
    assert "no job table" in capfd.readouterr().err
    assert names.states(database).keys() == {"ordinary", "ordinary2", "other", "alive"}
    assert database.value("SELECT still_here FROM canary") == 1
