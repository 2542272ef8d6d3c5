"""Databases that are not as most are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.db.failures import driver_errors
from pgq_ops.errors import PgqOpsError
from pgq_ops.tasks.reap import Reap
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table, reap, statuses

if TYPE_CHECKING:
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


def test_text_that_is_not_utf8_is_told_in_one_sentence(ascii_database: Database) -> None:
    create_field_table(ascii_database)
    ascii_database.execute(
        r"INSERT INTO jobs (status, queue, lease_until, attempts) VALUES ('running', E'\xff', now() - interval '1 m', 1)"
    )
    bound = bind_toml(ascii_database, FIELD)
    with pytest.raises(PgqOpsError, match="invalid byte sequence"), driver_errors("read"):
        bound.connection.execute("SELECT queue FROM jobs").fetchall()


@pytest.mark.parametrize("batch_size", [500, 1])
def test_a_job_whose_queue_cannot_be_read_keeps_no_other_from_being_reaped(
    ascii_database: Database, batch_size: int
) -> None:
    create_field_table(ascii_database)
    ascii_database.execute(
        "INSERT INTO jobs (status, queue, lease_until, attempts)"
        r" SELECT 'running', CASE n WHEN 4 THEN E'caf\351' ELSE 'mail' END, now() - interval '1 m', 1"
        " FROM generate_series(1, 10) AS n"
    )
    bound = bind_toml(ascii_database, FIELD + f"batch_size = {batch_size}\n")
    result = Reap(remembers=True).run(bound.connection, bound.table, lambda: True)
    assert (result.requeued, result.conflicts) == (9, 1)
    assert "invalid byte sequence" in result.example
    assert ascii_database.rows("SELECT id FROM jobs WHERE status = 'running'") == [(4,)]
