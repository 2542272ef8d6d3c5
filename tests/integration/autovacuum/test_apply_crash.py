"""Wherever a session dies that sets parameters, what is remembered is what the catalog has."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.support.agent import wait_until
from tests.support.storage import WANTED, Storage, made, options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.database import Database

# Where it halts: when the old values are saved and nothing is set yet, and when all is set and not yet committed.
SAVED = """
    CREATE FUNCTION halt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(30); RETURN NULL; END $$;
    CREATE TRIGGER halt AFTER INSERT OR UPDATE ON pgq_ops.setting FOR EACH ROW EXECUTE FUNCTION halt()
"""
UNSAVED = "DROP FUNCTION halt() CASCADE"
SET = """
    CREATE FUNCTION halt() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(30); END $$;
    CREATE EVENT TRIGGER halt ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION halt()
"""
HALTED = """
    SELECT query FROM pg_stat_activity
    WHERE datname = current_database() AND application_name ~ '^pgq-ops' AND wait_event = 'PgSleep'
"""
KILL = """
    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event = 'PgSleep'
"""


@contextmanager
def halting(database: Database, where: str) -> Iterator[None]:
    database.execute(where)
    try:
        yield
    finally:
        database.execute(UNSAVED)


def killed(database: Database, act: Callable[[Storage], object], statement: str) -> None:
    """Do it in a session of its own that is killed where it halts: in this statement."""
    with ThreadPoolExecutor(1) as pool:
        doing = pool.submit(act, Storage.of(database))
        wait_until(lambda: database.rows(HALTED), what="halts")
        assert database.value(HALTED).startswith(statement)
        assert database.value(KILL)
        with pytest.raises(psycopg.OperationalError):
            doing.result()


def both(database: Database) -> tuple[object, object]:
    return options(database), database.rows("SELECT * FROM pgq_ops.setting ORDER BY id")


@pytest.mark.parametrize(
    ("where", "statement"),
    [(SAVED, "INSERT INTO pgq_ops.setting"), (SET, "ALTER TABLE ONLY")],
    ids=["between save and set", "between set and record"],
)
def test_a_kill_while_parameters_are_set_leaves_neither_a_setting_nor_a_memory_of_it(
    database: Database, where: str, statement: str
) -> None:
    storage = made(database)
    database.execute("ALTER TABLE jobs SET (autovacuum_vacuum_threshold = 100, fillfactor = 70)")
    untouched = options(database)
    for value in ("500", "600"):
        before, wanted = both(database), WANTED | {"autovacuum_vacuum_threshold": value}
        with halting(database, where):
            killed(database, partial(Storage.apply, wanted=wanted), statement)
        assert both(database) == before
        storage.apply(wanted=wanted)
    storage.revert()
    assert options(database) == untouched


@pytest.mark.parametrize(
    ("where", "statement"),
    [(SET, "ALTER TABLE ONLY"), (SAVED, "UPDATE pgq_ops.setting")],
    ids=["between reset and record", "while it is recorded"],
)
def test_a_kill_while_they_are_put_back_leaves_all_to_do(database: Database, where: str, statement: str) -> None:
    storage = made(database)
    database.execute("ALTER TABLE jobs SET (autovacuum_vacuum_threshold = 100, fillfactor = 70)")
    untouched = options(database)
    storage.apply()
    before = both(database)
    with halting(database, where):
        killed(database, Storage.revert, statement)
    assert both(database) == before
    storage.revert()
    assert options(database) == untouched


def test_a_refusal_after_the_change_undoes_both(database: Database) -> None:
    storage = made(database)
    database.execute(SET.replace("PERFORM pg_sleep(30)", "RAISE 'no changes on Fridays'"))
    outcome = storage.apply()
    assert (outcome.fate, outcome.reason) == ("refused", "no changes on Fridays (SQLSTATE P0001)")
    assert outcome.statement.startswith('ALTER TABLE ONLY "public"."jobs" SET (autovacuum_vacuum_threshold = 500,')
    assert both(database) == ((None, None), [])
