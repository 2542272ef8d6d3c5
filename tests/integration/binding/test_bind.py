"""What the binding accepts, what it refuses, and how it says so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pgq_ops.binding import retrying
from pgq_ops.errors import ConfigError, NotPermitted
from pgq_ops.tasks.reap import Reap
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table, reap
from tests.support.retrying import retry

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles


def without(toml: str, *keys: str) -> str:
    """The config without the lines of some keys."""
    return (
        "\n".join(line for line in toml.splitlines() if not line.startswith(tuple(f"{key} = " for key in keys))) + "\n"
    )


def refusal(database: Database, toml: str) -> str:
    with pytest.raises(ConfigError) as caught:
        bind_toml(database, toml)
    return str(caught.value)


@pytest.mark.case("C1")
@pytest.mark.parametrize(
    ("written", "created"),
    [
        ("jobs", "public.jobs"),
        ("public.jobs", "public.jobs"),
        ("Ops-Q.Order", '"Ops-Q"."Order"'),
        ('\'"Ops-Q"."Order"\'', '"Ops-Q"."Order"'),
        ('\'"a.b"."c""d"\'', '"a.b"."c""d"'),
        ("'public.\"Jobs\"'", 'public."Jobs"'),
    ],
)
def test_a_table_is_found_under_each_way_to_write_its_name(database: Database, written: str, created: str) -> None:
    create_field_table(database)
    database.execute('CREATE SCHEMA "Ops-Q"; CREATE SCHEMA "a.b"')
    if created != "public.jobs":
        database.execute(f"CREATE TABLE {created} (LIKE jobs INCLUDING ALL)")
    name = written if written.startswith("'") else f'"{written}"'
    bound = bind_toml(database, FIELD.replace('table = "jobs"', f"table = {name}"))
    assert bound.table.relation.sql.as_string() in {created, '"public"."jobs"', '"public"."Jobs"'}


@pytest.mark.case("C1")
def test_the_same_name_in_two_schemas_must_be_qualified_unless_one_is_on_the_search_path(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "CREATE SCHEMA a; CREATE SCHEMA b; CREATE TABLE a.jobs (LIKE jobs); CREATE TABLE b.jobs (LIKE jobs)"
    )
    assert bind_toml(database, FIELD).table.relation.schema == "public"
    database.execute("DROP TABLE public.jobs")
    message = refusal(database, FIELD)
    assert "a.jobs, b.jobs" in message
    assert bind_toml(database, FIELD.replace('"jobs"\n[', '"b.jobs"\n[')).table.relation.schema == "b"


@pytest.mark.case("C1")
@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (
            ('table = "jobs"', 'table = "job"'),
            ["job_tables.jobs.table", "no table 'job'", 'did you mean "public.jobs"?'],
        ),
        (('table = "jobs"', 'table = "JOBS"'), ['did you mean "public.jobs"?']),
        (('state = "status"', 'state = "statsu"'), ["job_tables.jobs.columns.state", 'did you mean "status"?']),
        (('state = "status"', 'state = "Status"'), ['did you mean "status"?']),
        (('attempts = "attempts"', 'attempts = "locked_by"'), ["columns.attempts", "is text", "must be an integer"]),
        (('"lease_until"', '"locked_by"'), ["columns.lease_expires_at", "is text", "a time is a timestamp"]),
        (('queue = "queue"', 'queue = { sql = "nothing + 1" }'), ["columns.queue", "the server refuses", "nothing"]),
        (
            ('running = ["running"]', "running = { where = 'attempts' }"),
            ["states.running.where", "integer, not a condition"],
        ),
        (('dead = ["dead"]', "dead = [7]"), ["states.dead", "cannot hold 7", "text in quotes"]),
        (('table = "jobs"', "table = 'a.b.c'"), ["quote names that contain dots"]),
    ],
)
def test_wrong_names_and_types_are_refused_with_what_would_be_right(
    database: Database, change: tuple[str, str], parts: list[str]
) -> None:
    create_field_table(database)
    assert change[0] in FIELD
    message = refusal(database, FIELD.replace(*change))
    for part in parts:
        assert part in message


def test_every_problem_is_told_at_once(database: Database) -> None:
    create_field_table(database)
    message = refusal(
        database, FIELD.replace('"status"', '"x1"').replace('"queue"', '"x2"').replace('"run_at"', '"x3"')
    )
    assert len(message.splitlines()) == 3


@pytest.mark.case("D2")
@pytest.mark.parametrize(
    ("ddl", "parts"),
    [
        (
            "ALTER TABLE jobs ADD CONSTRAINT known CHECK (status IN ('pending', 'running', 'done', 'failed'))",
            ["constraint known", "'failed'"],
        ),
        (
            "ALTER TABLE jobs ALTER status DROP DEFAULT; CREATE TYPE s AS ENUM ('pending', 'running', 'done', 'failed'); ALTER TABLE jobs ALTER status TYPE s USING status::s",
            ["its values are pending, running, done, failed"],
        ),
        ("ALTER TABLE jobs ALTER status TYPE varchar(3)", ["room for 3 characters"]),
        ("ALTER TABLE jobs ALTER status DROP DEFAULT, ALTER status TYPE int USING 0", ["write an integer"]),
        ("CREATE DOMAIN st AS text CHECK (value <> 'dead'); ALTER TABLE jobs ALTER status TYPE st", ["st_check"]),
    ],
)
def test_a_state_that_the_table_cannot_hold_is_refused_with_those_it_can(
    database: Database, ddl: str, parts: list[str]
) -> None:
    create_field_table(database)
    database.execute("DROP INDEX jobs_running")
    database.execute(ddl)
    message = refusal(database, FIELD)
    assert "states.dead" in message
    assert "cannot hold 'dead'" in message
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("ddl", "kind"),
    [
        ("CREATE VIEW shown AS SELECT * FROM jobs", "a view"),
        ("CREATE MATERIALIZED VIEW shown AS SELECT * FROM jobs", "a materialized view"),
        (
            "CREATE EXTENSION file_fdw; CREATE SERVER s FOREIGN DATA WRAPPER file_fdw; CREATE FOREIGN TABLE shown (id int) SERVER s OPTIONS (filename '/dev/null')",
            "a foreign table",
        ),
        ("CREATE SEQUENCE shown", "a sequence"),
    ],
)
def test_what_is_no_table_is_refused_by_its_kind(database: Database, ddl: str, kind: str) -> None:
    create_field_table(database)
    database.execute(ddl)
    assert f"is {kind}" in refusal(database, FIELD.replace('table = "jobs"', 'table = "shown"'))


def test_optional_columns_of_a_preset_that_the_table_lacks_are_left_out_with_a_note(database: Database) -> None:
    database.execute(
        "CREATE TABLE mail (id int PRIMARY KEY, status text, available_at timestamptz, lease_until timestamptz, attempts int)"
    )
    bound = bind_toml(database, '[job_tables.mail]\ntable = "mail"\npreset = "lease"\n[job_tables.mail.reaper]\n')
    assert "owner" not in bound.table.fields
    assert [note for note in bound.notes if "columns.owner" in note and "claimed_by" in note]
    database.execute("ALTER TABLE mail DROP COLUMN lease_until")
    assert "columns.lease_expires_at" in refusal(database, '[job_tables.mail]\ntable = "mail"\npreset = "lease"\n')


def test_reaping_is_refused_where_something_it_needs_is_missing_and_observing_is_not(database: Database) -> None:
    create_field_table(database)
    dead = FIELD.replace('dead = ["dead"]', "dead = { where = \"status = 'dead'\" }")
    with pytest.raises(ConfigError, match="set"):
        bind_toml(database, dead)
    observed = dead[: dead.index("[job_tables.jobs.reaper]")]
    assert any("cannot be reaped" in note for note in bind_toml(database, observed).notes)


NO_PLACE_FOR_NOTES = ["bytea", "timestamptz", "integer", "integer[]", "boolean", "xml", '"char"', "hue"]
NOTES_FIT = ["text", "varchar(30)", "char(30)", "json", "jsonb", "text[]", "varchar(30)[]", "json[]", "jsonb[]", "told"]


def with_error(database: Database, type_name: str) -> None:
    database.execute("CREATE TYPE hue AS ENUM ('red'); CREATE DOMAIN told AS text")
    create_field_table(database)
    database.execute(f"ALTER TABLE jobs DROP last_error, ADD last_error {type_name}")


@pytest.mark.parametrize("type_name", NO_PLACE_FOR_NOTES)
def test_an_error_column_that_can_take_no_note_is_refused_to_reap_and_to_retry_and_not_to_look(
    database: Database, type_name: str
) -> None:
    with_error(database, type_name)
    message = refusal(database, FIELD)
    assert f"job_tables.jobs.columns.error: column 'last_error' is {type_name}" in message.replace(
        "timestamp with time zone", "timestamptz"
    )
    observed = bind_toml(database, FIELD[: FIELD.index("[job_tables.jobs.reaper]")])
    assert any("cannot be reaped: job_tables.jobs.columns.error" in note for note in observed.notes)
    with pytest.raises(ConfigError, match=r"columns\.error"):
        retrying.require_mapped(observed.table)
    expression = FIELD.replace('error = "last_error"', 'error = { sql = "last_error::text" }')
    assert not any("columns.error" in note for note in bind_toml(database, expression).notes)


@pytest.mark.parametrize("type_name", NOTES_FIT)
def test_each_error_column_that_is_not_refused_takes_a_note_of_a_requeue_and_of_a_retry(
    database: Database, type_name: str
) -> None:
    with_error(database, type_name)
    database.execute(
        "INSERT INTO jobs (status, lease_until, attempts) VALUES ('running', now() - interval '1 m', 1), ('dead', NULL, 5)"
    )
    assert (reap(database).requeued, retry(database, FIELD).counts.jobs) == (1, 1)
    assert database.value("SELECT count(*) FROM jobs WHERE last_error::text LIKE '%20__-__-__T%'") == 2


@pytest.mark.parametrize(
    ("value", "unit"), [(1_700_000_000, "s"), (1_700_000_000_000, "ms"), (1_700_000_000_000_000, "us")]
)
def test_the_unit_of_an_epoch_column_is_seen_in_its_rows(database: Database, value: int, unit: str) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ALTER lease_until TYPE bigint USING NULL")
    assert re.search(r'unit = "ms"', refusal(database, FIELD))
    database.execute("INSERT INTO jobs (status, lease_until) VALUES ('running', %s)", [value])
    kind = bind_toml(database, FIELD).table.fields["lease_expires_at"].time
    assert kind is not None
    assert kind.value == unit


def test_missing_privileges_are_told_with_the_grant_that_is_needed(database: Database, make_role: Roles) -> None:
    create_field_table(database)
    database.execute("CREATE SCHEMA closed; CREATE TABLE closed.jobs (LIKE jobs INCLUDING ALL)")
    role = make_role("nobody_special", "LOGIN")
    with pytest.raises(NotPermitted) as caught:
        bind_toml(database, FIELD.replace('"jobs"\n[', '"closed.jobs"\n['), role=role)
    database.execute(caught.value.remedy)
    with pytest.raises(NotPermitted) as caught:
        bind_toml(database, FIELD, role=role)
    assert caught.value.remedy.startswith('GRANT SELECT ("id", "status", ')
    database.execute(caught.value.remedy)
    bound = bind_toml(database, FIELD, role=role)
    with pytest.raises(NotPermitted) as caught:
        Reap().run(bound.connection, bound.table, lambda: True)
    assert "UPDATE" in caught.value.remedy
    assert "queue" not in caught.value.remedy
    database.execute(caught.value.remedy)
    database.execute("INSERT INTO jobs (status, lease_until, attempts) VALUES ('running', now() - interval '1 m', 1)")
    assert Reap().run(bound.connection, bound.table, lambda: True).requeued == 1


def test_a_table_that_the_role_must_read_through_policies_is_told_before_anything_is_read(
    database: Database, make_role: Roles
) -> None:
    create_field_table(database)
    role = make_role("filtered", "LOGIN")
    database.execute(f"GRANT SELECT ON jobs TO {role}; ALTER TABLE jobs ENABLE ROW LEVEL SECURITY")
    with pytest.raises(NotPermitted, match="row-level security hides rows"):
        bind_toml(database, FIELD, role=role)
