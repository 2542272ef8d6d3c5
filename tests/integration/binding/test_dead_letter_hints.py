"""What is said of a dead-letter table that is missing or does not fit: statements to paste, which then suffice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.errors import ConfigError
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table, reap

if TYPE_CHECKING:
    from tests.support.database import Database

DEAD = FIELD + "dead_letter_table = 'public.\"dead 100%\"'\n"
POISON = """
    INSERT INTO jobs (status, lease_until, attempts, "Odd %") OVERRIDING SYSTEM VALUE
    VALUES ('running', now() - interval '1 m', 99, 'kept')
"""


def hints(database: Database) -> list[str]:
    """The statements in the refusal, as a person would paste them."""
    with pytest.raises(ConfigError) as caught:
        bind_toml(database, DEAD)
    return [problem.hint for problem in caught.value.problems]


def create(database: Database) -> None:
    create_field_table(database)
    database.execute("""
        ALTER TABLE jobs ADD COLUMN "Odd %" varchar(200), ALTER COLUMN id SET GENERATED ALWAYS,
            ADD COLUMN doubled int GENERATED ALWAYS AS (attempts * 2) STORED
    """)
    database.execute("CREATE UNIQUE INDEX ON jobs (dedup_key) WHERE status <> 'done'")
    database.execute(POISON)


def test_a_missing_one_is_made_by_the_statement_in_the_hint(database: Database) -> None:
    create(database)
    [hint] = hints(database)
    assert hint.startswith('CREATE TABLE "public"."dead 100%" (LIKE "public"."jobs" INCLUDING ALL EXCLUDING')
    database.execute(hint)
    assert reap(database, DEAD).dead_lettered == 1
    assert database.rows('SELECT "Odd %" FROM "dead 100%"') == [("kept",)]
    database.execute(POISON)
    assert reap(database, DEAD).dead_lettered == 1


def test_a_name_that_is_nearly_right_is_asked_about_beside_the_statement(database: Database) -> None:
    create(database)
    database.execute('CREATE TABLE "dead 100" (LIKE jobs)')
    [hint] = hints(database)
    assert 'did you mean "public.dead 100"?' in hint
    assert "CREATE TABLE" in hint


def test_one_that_does_not_fit_is_mended_by_the_statements_in_the_hints(database: Database) -> None:
    create(database)
    database.execute("""
        CREATE TABLE "dead 100%" (LIKE jobs);
        ALTER TABLE "dead 100%" DROP COLUMN last_error, DROP COLUMN "Odd %", ALTER COLUMN locked_by TYPE varchar(3),
            ADD COLUMN why text NOT NULL, DROP COLUMN queue, ADD COLUMN queue text GENERATED ALWAYS AS ('q') STORED
    """)
    found = hints(database)
    assert 'ALTER TABLE "public"."dead 100%" ADD COLUMN "Odd %" character varying(200);' in found
    assert len(found) == 5
    for hint in found:
        database.execute(hint)
    assert reap(database, DEAD).dead_lettered == 1
