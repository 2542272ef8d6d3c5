"""Errors that a trigger has from elsewhere, another server, say: they look as if they were of our own session."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import psycopg
import pytest

from pgq_ops.db.failures import is_connection_loss
from pgq_ops.tasks.reap import Reap
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table, reap, statuses

if TYPE_CHECKING:
    from tests.support.database import Database

# Of lost, refused and missing connections, of servers that only read, are full, are stopped, lack a file.
FOREIGN = ("08006", "08003", "28000", "3D000", "25006", "53300", "53200", "57P01", "57P03", "57P05", "25P03", "58P01")
RAISE = """
CREATE FUNCTION remote() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN
    IF new.id = 7 THEN RAISE EXCEPTION 'could not connect to the remote' USING ERRCODE = '{code}'; END IF;
    RETURN new;
END $$;
CREATE TRIGGER remote BEFORE {event} FOR EACH ROW EXECUTE FUNCTION remote();
"""


def prepare(database: Database, code: str, event: str = "UPDATE ON jobs") -> None:
    create_field_table(database)
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    database.execute(
        "INSERT INTO jobs (status, lease_until, attempts)"
        " SELECT 'running', now() - interval '1 minute', 1 FROM generate_series(1, 20)"
    )
    database.execute(RAISE.format(code=code, event=event))


@pytest.mark.parametrize("code", FOREIGN)
def test_a_row_whose_trigger_lost_its_own_server_costs_that_row_only(database: Database, code: str) -> None:
    prepare(database, code)
    result = reap(database)
    assert (result.requeued, result.conflicts) == (19, 1)
    assert result.example == f"{code}: could not connect to the remote"
    assert statuses(database) == {"pending": 19, "running": 1}


def test_so_does_one_whose_copy_cannot_be_written(database: Database) -> None:
    prepare(database, "08006", "INSERT ON dead_jobs")
    result = reap(database, FIELD + 'max_attempts = 1\ndead_letter_table = "dead_jobs"\n')
    assert (result.dead_lettered, result.conflicts) == (19, 1)


def test_a_full_disk_is_no_row_s_fault_wherever_it_is_met(database: Database) -> None:
    prepare(database, "53100")
    with pytest.raises(psycopg.errors.DiskFull):
        reap(database)
    assert statuses(database) == {"running": 20}


def test_a_server_that_only_reads_is_a_lost_connection(database: Database) -> None:
    prepare(database, "P0001")
    bound = bind_toml(database, FIELD)
    bound.connection.execute("SET default_transaction_read_only = on")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction) as raised:
        Reap().run(bound.connection, bound.table, lambda: True)
    assert is_connection_loss(raised.value)


@pytest.mark.parametrize("by", ["the function", "the server"])
def test_a_session_is_lost_when_the_server_has_ended_it_whoever_says_so(database: Database, by: str) -> None:
    create_field_table(database)
    bound = bind_toml(database, FIELD)
    if by == "the server":
        database.execute("SELECT pg_terminate_backend(%s)", [bound.connection.info.backend_pid])
        database.value("SELECT count(*) FROM pg_stat_activity")
    ending = "DO $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(9); END $$"
    with pytest.raises(psycopg.OperationalError) as raised:
        bound.connection.execute(ending)
    assert is_connection_loss(raised.value)
    assert bound.connection.broken


def test_a_message_of_a_megabyte_is_kept_logged_and_told_in_part(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    prepare(database, "P0001")
    database.execute("""
        CREATE OR REPLACE FUNCTION remote() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'no: %', repeat('x', 1000000); END $$
    """)
    with caplog.at_level(logging.WARNING, "pgq_ops"):
        result = reap(database)
    assert result.conflicts == 20
    assert result.example.startswith("P0001: no: xxx")
    assert result.example.endswith("xxx...")
    assert 500 <= len(result.example) < 520
    assert all(len(str(record.__dict__)) < 3_000 for record in caplog.records)
