"""Sessions that hold locks, and sessions that wait for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
from pydantic import SecretStr

from pgq_ops.config.model import Database as DatabaseConfig
from pgq_ops.db.connection import COMMAND_LIMITS, Purpose, connect
from pgq_ops.stats import transactions
from pgq_ops.tasks.end_session import SESSIONS_ENDED
from tests.support.agent import wait_until

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.stats.transactions import Transaction, Transactions
    from tests.support.database import Database

WAITS = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s"
IS_THERE = "SELECT count(*)::int FROM pg_stat_activity WHERE pid = %s"


def opened(database: Database, name: str, *statements: str, **options: Any) -> psycopg.Connection[Any]:
    """A session of that application_name, idle in a transaction in which it has run the statements."""
    connection = database.connect(autocommit=False, application_name=name, **options)
    for statement in statements:
        connection.execute(statement.encode())
    return connection


def waiting(
    database: Database, name: str, statement: str, *, until: str = WAITS, **options: Any
) -> psycopg.Connection[Any]:
    """A session that waits for a lock in the statement, or is where the query `until` says of its pid."""
    connection = database.connect(application_name=name, **options)
    connection.pgconn.send_query(statement.encode())
    wait_until(lambda: database.value(until, [pid(connection)]), what=f"{name} waits")
    return connection


def pid(connection: psycopg.Connection[Any]) -> int:
    return connection.info.backend_pid


def is_there(database: Database, number: int) -> bool:
    return bool(database.value(IS_THERE, [number]))


def transaction_of(database: Database, session: psycopg.Connection[Any]) -> Transaction:
    """The session's transaction as it is read, by a superuser who sees everything."""
    connection = database.connect(application_name="pgq-ops/probes")
    [found] = [one for one in transactions.read(connection).sessions if one.pid == pid(session)]
    connection.close()
    return found


def seen(database: Database, **options: Any) -> Transactions:
    """As the probe looks."""
    connection = database.connect(**{"application_name": "pgq-ops/probes", **options})
    found = transactions.read(connection)
    connection.close()
    return found


def ours(database: Database, role: str | None = None, *, read_only: bool = False) -> Connection:
    """A session as a command has it."""
    dsn = database.dsn if role is None else database.dsn_as(role)
    connection = connect(DatabaseConfig(dsn=SecretStr(dsn)), Purpose.COMMAND, COMMAND_LIMITS, read_only=read_only)
    database.adopt(connection)
    return connection


def counted(database: Database) -> float:
    return float(SESSIONS_ENDED.labels(database.name)._value.get())


def is_over(session: psycopg.Connection[Any]) -> bool:
    try:
        session.execute("SELECT 1")
    except psycopg.OperationalError:
        return True
    return False
