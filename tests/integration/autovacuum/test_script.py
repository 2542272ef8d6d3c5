"""The script for whoever may change the tables: run as it is, it does what `apply` would."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.schema.versions import install
from pgq_ops.tasks.autovacuum.script import HEAD, script
from pgq_ops.tasks.autovacuum.tuning import Tune
from tests.support.binding import bind_toml
from tests.support.jobs import SMALL
from tests.support.storage import COLUMNS, options

if TYPE_CHECKING:
    from tests.support.database import Database

# As `table =` of the configuration quotes it, and as the catalog has it.
ODD = 'we"ird\n-- %s {x}'
DOUBLED = ODD.replace('"', '""')


def test_it_sets_what_apply_would(database: Database) -> None:
    database.execute(f'CREATE TABLE "{DOUBLED}" ({COLUMNS}) WITH (fillfactor = 90, toast.autovacuum_enabled = off)')
    quoted = '"\\"' + DOUBLED.replace('"', '\\"').replace("\n", "\\n") + '\\""'
    bound = bind_toml(database, SMALL.replace('table = "jobs"', f"table = {quoted}"))
    task = Tune(apply=True)
    lines = [*HEAD.splitlines(), *script("my\njobs", task.plan(bound.connection, bound.table))]
    statements = [line for line in lines if line and not line.startswith("--")]
    assert len(statements) == 2
    assert "-- my\\njobs" in lines
    assert (
        "--   autovacuum_vacuum_threshold (now: not set): how fast rows die is not measured yet: the smallest" in lines
    )
    told = [line for line in lines if "never switches it on" in line]
    assert [line.startswith("-- advice: ") for line in told] == [True]
    session = database.connect()
    session.execute("\n".join(lines).encode())
    by_hand = options(database, f'"{DOUBLED}"')
    assert by_hand[0] is not None
    assert "autovacuum_vacuum_threshold=500" in by_hand[0]
    session.execute(
        f'ALTER TABLE "{DOUBLED}" RESET ({", ".join(one.partition("=")[0] for one in by_hand[0][1:])})'.encode()
    )
    install(session)
    task.run(bound.connection, bound.table, lambda: True)
    assert options(database, f'"{DOUBLED}"') == by_hand


@pytest.mark.parametrize(("deadlock_timeout", "lock_timeout"), [("1s", "300ms"), ("10ms", "5ms"), ("5s", "300ms")])
def test_it_waits_less_than_what_cancels_an_autovacuum(
    database: Database, deadlock_timeout: str, lock_timeout: str
) -> None:
    session = database.connect()
    session.execute(f"SET deadlock_timeout = '{deadlock_timeout}'".encode())
    session.execute(HEAD.encode())
    assert session.execute("SHOW lock_timeout").fetchall() == [(lock_timeout,)]


def test_where_all_is_right_it_changes_nothing(database: Database) -> None:
    database.execute(f"CREATE TABLE jobs ({COLUMNS})")
    install(database.connect())
    bound = bind_toml(database, SMALL)
    task = Tune(apply=True)
    task.run(bound.connection, bound.table, lambda: True)
    assert list(script("jobs", task.plan(bound.connection, bound.table))) == ["", "-- jobs", "-- nothing to change"]
