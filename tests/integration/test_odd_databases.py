"""Databases that are not as most are."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql as composing

from pgq_ops.db.undecodable import Undecodable, text_of
from pgq_ops.stats import horizon
from pgq_ops.tasks.reap import Reap
from tests.support.binding import bind_toml
from tests.support.collecting import collection_of
from tests.support.database import unique
from tests.support.jobs import FIELD, create_field_table, reap, statuses
from tests.support.sessions import ours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.database import Database
    from tests.support.postgres import Server


@pytest.fixture
def ascii_database(server: Server, database: Database) -> Database:
    """A database without an encoding: it hands out whatever bytes were put in."""
    server.execute(f'DROP DATABASE "{database.name}"')
    server.execute(
        f"CREATE DATABASE \"{database.name}\" TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    return database


def test_a_database_without_an_encoding_is_bound_and_reaped(ascii_database: Database) -> None:
    create_field_table(ascii_database)
    ascii_database.execute(
        "INSERT INTO jobs (status, queue, lease_until, attempts) VALUES ('running', 'é', now() - interval '1 m', 1)"
    )
    assert reap(ascii_database).requeued == 1
    assert statuses(ascii_database) in ({"pending": 1}, {b"pending": 1})


def test_a_name_that_is_not_ascii_is_no_trouble_where_there_is_no_encoding(ascii_database: Database) -> None:
    ascii_database.execute('CREATE TABLE "é" (id int, "ö" text)')
    ascii_database.execute("INSERT INTO \"é\" VALUES (1, 'ü')")
    connection = ours(ascii_database, read_only=True)
    statement = composing.SQL("SELECT {}, %s FROM {}").format(composing.Identifier("ö"), composing.Identifier("é"))
    assert connection.execute(statement, ["ä"]).fetchall() == [("ü", "ä")]
    assert connection.execute("SELECT 'ö'").fetchall() == [("ö",)]


@pytest.mark.parametrize("name", ["text", "varchar", "name", "bpchar", "kind"])
def test_text_that_is_not_utf8_is_shown_with_escapes(ascii_database: Database, name: str) -> None:
    ascii_database.execute(r"CREATE TYPE kind AS ENUM (E'\xff')")
    connection = ours(ascii_database, read_only=True)
    [(text, several)] = connection.execute(rf"SELECT E'\xff'::{name}, ARRAY[E'\xff'::{name}]".encode()).fetchall()
    assert text == r"\xff"
    assert several == (r"{\xff}" if name == "kind" else [r"\xff"]), "the driver knows no array of our type"
    assert json.dumps(text) == r'"\\xff"'


def test_json_that_is_not_utf8_is_shown_with_escapes(ascii_database: Database) -> None:
    connection = ours(ascii_database, read_only=True)
    statement = r"""SELECT j, j::jsonb FROM (VALUES (E'{"a\xff": "\\u0041\xe9"}'::json)) AS v(j)"""
    expected = {r"a\xff": r"A\xe9"}
    assert connection.execute(statement).fetchall() == [(expected, expected)]


def test_text_that_is_not_utf8_goes_back_as_the_bytes_that_came(ascii_database: Database) -> None:
    ascii_database.execute(r"CREATE TABLE t AS SELECT * FROM (VALUES (E'\xff'), (E'\\xff'), ('plain')) AS v(id)")
    connection = ours(ascii_database)
    ids = [row[0] for row in connection.execute("SELECT id FROM t ORDER BY length(id)").fetchall()]
    assert ids[0] == ids[1] == r"\xff"
    for one in ids:
        assert connection.execute("DELETE FROM t WHERE id = %s RETURNING 1", [one]).rowcount == 1
    found = connection.execute("SELECT unnest(%(ids)s::text[])", {"ids": ids}).fetchall()
    assert [row[0] for row in found] == ids
    assert [isinstance(row[0], Undecodable) for row in found] == [True, False, False]


def test_such_text_is_refused_where_there_is_an_encoding(database: Database) -> None:
    with pytest.raises(psycopg.DataError, match="invalid byte sequence"):
        ours(database).execute("SELECT %s::text", [Undecodable.of(b"\xff")])


def test_jobs_whose_names_are_not_utf8_are_shown_and_reaped_like_others(ascii_database: Database) -> None:
    create_field_table(ascii_database)
    ascii_database.execute(
        "INSERT INTO jobs (status, queue, lease_until, attempts, locked_by)"
        r" SELECT 'running', CASE n WHEN 4 THEN E'caf\351' ELSE 'mail' END, now() - interval '1 m', 1, E'w\377'"
        " FROM generate_series(1, 10) AS n"
    )
    collection = collection_of(ascii_database, FIELD).healthy()
    assert collection.values("jobs", state="running") == {(r"caf\xe9",): 1, ("mail",): 9}
    bound = bind_toml(ascii_database, FIELD)
    result = Reap(remembers=True).run(bound.connection, bound.table, lambda: True)
    assert (result.requeued, result.conflicts) == (10, 0)


@pytest.mark.parametrize("batch_size", [500, 1])
def test_ids_that_are_not_utf8_are_paged_past_and_reaped(ascii_database: Database, batch_size: int) -> None:
    create_field_table(ascii_database)
    ascii_database.execute("ALTER TABLE jobs ALTER id DROP IDENTITY IF EXISTS, ALTER id DROP DEFAULT")
    ascii_database.execute("ALTER TABLE jobs ALTER id TYPE text")
    ascii_database.execute(
        "INSERT INTO jobs (id, status, queue, lease_until, attempts)"
        r" SELECT i, 'running', 'mail', now() - interval '1 m', 1 FROM (VALUES ('a'), (E'a\377'), (E'a\\xff'),"
        r" (E'b\351'), ('c')) AS v(i)"
    )
    bound = bind_toml(ascii_database, FIELD + f"batch_size = {batch_size}\n")
    result = Reap(remembers=True).run(bound.connection, bound.table, lambda: True)
    assert (result.requeued, result.conflicts) == (5, 0)


@dataclass(frozen=True)
class Prepared:
    """A prepared transaction in a database without an encoding, whose name and owner are not UTF-8."""

    gid: bytes
    role: bytes


@pytest.fixture
def prepared(ascii_database: Database) -> Iterator[Prepared]:
    made = Prepared(unique("g").encode() + b"\xe9'\xff", unique("r").encode() + b"\xe9")
    raw = ascii_database.connect(options="-c client_encoding=SQL_ASCII -c lock_timeout=2s")
    raw.execute(b'CREATE ROLE "' + made.role + b'" SUPERUSER')
    raw.execute(b'SET ROLE "' + made.role + b'"')
    raw.execute("CREATE TABLE t ()")
    raw.execute("BEGIN")
    raw.execute("INSERT INTO t DEFAULT VALUES")
    name = b"'" + made.gid.replace(b"'", b"''") + b"'"
    raw.execute(b"PREPARE TRANSACTION " + name)
    yield made
    if raw.execute(b"SELECT FROM pg_prepared_xacts WHERE gid = " + name).fetchall():
        raw.execute(b"ROLLBACK PREPARED " + name)
    raw.execute("DROP TABLE t")
    raw.execute("RESET ROLE")
    raw.execute(b'DROP ROLE "' + made.role + b'"')


def test_names_that_are_not_utf8_hide_nothing(
    ascii_database: Database, prepared: Prepared, make_database: Callable[[], Database]
) -> None:
    elsewhere = make_database()
    create_field_table(elsewhere)
    collection_of(elsewhere).healthy()
    found = horizon.read(ours(ascii_database, read_only=True))
    [holder] = [one for one in found.holders if one.kind == "prepared"]
    assert (holder.name, holder.user) == (text_of(prepared.gid), text_of(prepared.role))
    assert repr(holder.name).count("\\\\x") == 2
    for statement in holder.remedy.splitlines():
        ascii_database.execute(statement)
    assert horizon.read(ours(ascii_database, read_only=True)).holders == ()
