"""What every session of ours is bound by, tried on the server."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import errors
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from pgq_ops.agent.registry import TASKS
from pgq_ops.agent.work import Work
from pgq_ops.config.model import Database as DatabaseConfig
from pgq_ops.db.connection import COMMAND_LIMITS, Limits, Purpose, connect
from pgq_ops.errors import PgqOpsError
from pgq_ops.exporter.store import Store
from tests.support.binding import LEASE, loaded_of
from tests.support.database import ROLE_PASSWORD

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles


def of(dsn: str) -> DatabaseConfig:
    return DatabaseConfig(dsn=SecretStr(dsn))


def test_a_statement_is_ended_by_the_server_after_its_time(database: Database) -> None:
    with connect(of(database.dsn), Purpose.COMMAND, Limits(statement_ms=200)) as connection:
        began = time.monotonic()
        with pytest.raises(errors.QueryCanceled, match="statement timeout"):
            connection.execute("SELECT pg_sleep(20)")
        assert 0.2 <= time.monotonic() - began < 10


@pytest.mark.parametrize(("deadlock_timeout", "waited_ms"), [("1s", 100), ("150ms", 75), ("1ms", 1)])
def test_a_lock_is_waited_for_at_most_half_as_long_as_it_takes_to_cancel_an_autovacuum(
    database: Database, deadlock_timeout: str, waited_ms: int
) -> None:
    database.execute(f"ALTER DATABASE {database.name} SET deadlock_timeout = '{deadlock_timeout}'")
    database.execute("CREATE TABLE held ()")
    with (
        database.connect(autocommit=False) as holder,
        connect(of(database.dsn), Purpose.LEADER, COMMAND_LIMITS) as connection,
    ):
        holder.execute("LOCK TABLE held")
        assert connection.execute("SELECT setting FROM pg_settings WHERE name = 'lock_timeout'").fetchall() == [
            (str(waited_ms),)
        ]
        with pytest.raises(errors.LockNotAvailable):
            connection.execute("SELECT FROM held")


def test_the_looks_of_an_agent_can_write_nothing(database: Database) -> None:
    work = Work(loaded_of(LEASE, database.dsn), TASKS, Store())
    connection = work._probes.connection()
    database.adopt(connection)
    with pytest.raises(errors.ReadOnlySqlTransaction):
        connection.execute("CREATE TABLE written ()")


def test_the_server_s_own_words_are_told_without_the_password_in_them(database: Database, make_role: Roles) -> None:
    """The password is made to be what the server's error quotes: the name of a database that is not there."""
    dsn = make_conninfo(database.dsn_as(make_role()), dbname=ROLE_PASSWORD)
    with pytest.raises(psycopg.OperationalError, match=ROLE_PASSWORD):
        psycopg.connect(dsn)
    with pytest.raises(PgqOpsError, match="does not exist") as caught:
        connect(of(dsn), Purpose.COMMAND, COMMAND_LIMITS)
    assert ROLE_PASSWORD not in str(caught.value)
