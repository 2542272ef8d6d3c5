"""Whether PostgreSQL reads a mapped expression as we do: nothing that it takes for more than one gets past us."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pgq_ops.binding.fields import expression_type
from pgq_ops.config.columns import Column
from pgq_ops.job_table.quoting import expression
from pgq_ops.job_table.table import Relation
from tests.support.collecting import collection_of
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from pgq_ops.errors import Problem
    from tests.support.database import Database

# What ends, begins or hides something in SQL, and a little that does not.
PIECES = [
    *("(", ")", "[", "]", "'", "''", '"', "$$", "$a$", "$", "--", "/*", "*/", "\\", "\\'", "\n", "\r", " ", "\u00a0"),
    *("E'", "e'", "U&'", "B'", "a", "E", "1", "true", " OR ", "=", "-", "*", "/", "||", ",", "\u20ac", "\u00df", "::"),
]


def _parses(connection: psycopg.Connection[Any], query: str) -> bool:
    """Whether the server's grammar takes it, whatever it then thinks of its names and types."""
    try:
        connection.execute(query.encode())
    except psycopg.errors.SyntaxError:
        return False
    except psycopg.Error:
        return True
    return True


@pytest.fixture
def connection(database: Database) -> psycopg.Connection[Any]:
    return database.connect(autocommit=True)


@settings(max_examples=500, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("E'a'\n'\\'' = a) OR (true --'")
@example("\u00a0$$) OR (true --$$")
@example("1 /* /* */ */ ) OR (true --*/")
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=10).map("".join))
def test_what_is_taken_for_one_expression_cannot_end_its_parentheses(
    connection: psycopg.Connection[Any], text: str
) -> None:
    try:
        Column(sql=text)
    except ValidationError:
        return
    # Text that ends a parenthesis cannot end a bracket as well: the server takes it in one place only.
    if _parses(connection, f"SELECT ({text}\n)"):
        assert _parses(connection, f"SELECT ARRAY[{text}\n]")


def test_the_property_above_tells_an_escape(connection: psycopg.Connection[Any]) -> None:
    text = "true) OR (true"
    assert _parses(connection, f"SELECT ({text}\n)")
    assert not _parses(connection, f"SELECT ARRAY[{text}\n]")


@pytest.mark.parametrize("smuggled", ["1); CREATE TABLE stolen (); SELECT (1", "1; DROP TABLE jobs"])
def test_the_server_takes_one_statement_even_where_the_text_was_not_looked_at(
    database: Database, connection: psycopg.Connection[Any], smuggled: str
) -> None:
    create_field_table(database)
    oid = database.value("SELECT 'jobs'::regclass::oid::bigint")
    problems: list[Problem] = []
    assert expression_type(connection, Relation(oid, "public", "jobs"), expression(smuggled), "x", problems) is None
    assert "the server refuses the expression" in str(problems[0])
    assert database.value("SELECT to_regclass('stolen') IS NULL AND to_regclass('jobs') IS NOT NULL")


def test_an_expression_that_writes_is_refused_by_the_sessions_that_only_look(database: Database) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (queue, status) VALUES ('q', 'pending')")
    database.execute(
        "CREATE TABLE written (); CREATE FUNCTION writes(text) RETURNS text VOLATILE LANGUAGE sql AS $$"
        " INSERT INTO written DEFAULT VALUES RETURNING 'q' $$"
    )
    seen = collection_of(database, FIELD.replace('queue = "queue"', 'queue = { sql = "writes(queue)" }'))
    failures = seen.collect().failures
    assert any("read-only transaction" in str(failure.error) for failure in failures)
    assert database.value("SELECT count(*) FROM written") == 0
