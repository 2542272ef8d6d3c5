"""Sessions that hold locks, and sessions that wait for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pgq_ops.stats import transactions
from tests.support.agent import wait_until

if TYPE_CHECKING:
    import psycopg

    from pgq_ops.stats.transactions import Transaction
    from tests.support.database import Database

WAITS = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s"
IS_THERE = "SELECT count(*)::int FROM pg_stat_activity WHERE pid = %s"


def opened(database: Database, name: str, *statements: str, **options: Any) -> psycopg.Connection[Any]:
    """A session of that application_name, idle in a transaction in which it has run the statements."""
    connection = database.connect(autocommit=False, application_name=name, **options)
    for statement in statements:
        connection.execute(statement.encode())
    return connection


def waiting(database: Database, name: str, statement: str, **options: Any) -> psycopg.Connection[Any]:
    """A session that waits for a lock in the statement."""
    connection = database.connect(application_name=name, **options)
    connection.pgconn.send_query(statement.encode())
    wait_until(lambda: database.value(WAITS, [pid(connection)]), what=f"{name} waits")
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
