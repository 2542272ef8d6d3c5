"""Opens connections: named for their purpose, bounded, and set up the same way everywhere."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors, pq
from psycopg import sql as composing
from psycopg.conninfo import make_conninfo

from pgq_ops.db.answers import GRACE_SECONDS, AnsweringConnection
from pgq_ops.db.conninfo import parameters as libpq_parameters
from pgq_ops.db.conninfo import secrets
from pgq_ops.db.failures import driver_errors
from pgq_ops.db.undecodable import NO_ENCODING, has_no_encoding, read_any_text
from pgq_ops.errors import PgqOpsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pgq_ops.config.model import Database

    Connection = psycopg.Connection[tuple[Any, ...]]

MINIMUM_VERSION = 140000


class Purpose(StrEnum):
    """What a session is for; its application_name is `pgq-ops/<purpose>`."""

    LEADER = "leader"
    PROBES = "probes"
    MAINTENANCE = "maintenance"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a session's statements may take and wait, in milliseconds.

    A lock is never waited for longer than half of `deadlock_timeout`: a waiter that reaches it makes
    PostgreSQL cancel a running autovacuum (postgres-facts.md, Autovacuum). The server ends a session that asks
    nothing for `idle_ms`; 0: never, and one that does so within a transaction after 30 s.
    """

    statement_ms: int
    lock_ms: int = 100
    idle_ms: int = 0


# A look may take this long (performance.md: a full collection keeps to 100 ms under heavy bloat).
# Its lock wait is the shorter one, so that a locked table is told from a look that is too slow.
PROBE_LIMITS = Limits(statement_ms=100, lock_ms=50)
# A batch of the reaper takes tens of milliseconds; without any index it scans a stretch of the table.
WRITE_LIMITS = Limits(statement_ms=30_000)
# The agent's leader asks each two seconds. One that is stopped, or behind a stopped proxy, asks no more while its
# kernel, or the proxy's, answers every keepalive: then the server ends the session, and the lock is free for the next.
LEADER_LIMITS = Limits(statement_ms=30_000, idle_ms=15_000)
# One VACUUM is given its own time. A session that nobody needs is closed long before the server would end it.
MAINTENANCE_LIMITS = Limits(statement_ms=30_000, idle_ms=60_000)
# Somebody waits for a command's answer.
COMMAND_LIMITS = Limits(statement_ms=5_000)

# The server's side: it lets go of a dead client's locks within about 14 s (tried, postgres-facts.md), and no
# timeout of the role or database may end a session. A commit waits for no standby: that wait has no timeout, and
# one that is away would stop the agent. Settings that a version lacks are left out.
_IDLE_IN_TRANSACTION_MS = 30_000
_SESSION_SETTINGS = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "standard_conforming_strings": "on",
    "extra_float_digits": "1",
    "quote_all_identifiers": "off",
    "array_nulls": "on",
    "exit_on_error": "off",
    "default_transaction_isolation": "read committed",
    "default_transaction_deferrable": "off",
    "row_security": "off",
    "jit": "off",
    "synchronous_commit": "local",
    "max_parallel_workers_per_gather": "0",
    "transaction_timeout": "0",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "3",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "14s",
    "client_connection_check_interval": "0",
}

# The built-in functions, types, operators and catalogs come before anybody's of the same name, wherever the role's path
# has them. Behind a pooler that keeps sessions the path may be ours already. No operator: the path is not set yet.
_SEARCH_BUILT_IN_FIRST = """
SELECT pg_catalog.set_config('search_path', pg_catalog.rtrim(pg_catalog.regexp_replace(
    pg_catalog.current_setting('search_path'), '^(pg_catalog(, |$))*', 'pg_catalog, '), ', '), false)
"""
_SET_ALL = """
SELECT pg_catalog.set_config(s.name, s.value, false)
FROM unnest(%(names)s::text[], %(values)s::text[]) AS s(name, value)
WHERE pg_catalog.current_setting(s.name, true) IS NOT NULL
"""
# A leader's statement is not carried on to its end once the leader is gone. Refused (22023) where the server's system
# cannot tell, Windows for one: then it is.
_CHECK_CLIENT = "SET client_connection_check_interval = '2s'"
_BOUND = """
SELECT pg_catalog.set_config('statement_timeout', %(statement_ms)s::text, false),
       pg_catalog.set_config('lock_timeout', greatest(1, least(%(lock_ms)s, extract(epoch FROM
           pg_catalog.current_setting('deadlock_timeout')::interval) * 500.0))::int::text, false)
"""


def connect(  # noqa: PLR0913 (what a session is, each by its name)
    database: Database,
    purpose: Purpose,
    limits: Limits,
    *,
    read_only: bool = False,
    direct: bool = False,
    check: Callable[[Connection], None] | None = None,
) -> AnsweringConnection:
    """Open and set up a session in autocommit mode.

    `direct` uses `direct_dsn` where there is one; `check` sees the connection before anything is set on it.
    Raises ConfigError for a DSN that cannot be read, DatabaseUnreachable when no session can be had.
    """
    parameters = libpq_parameters(database, direct=direct) | {"application_name": f"pgq-ops/{purpose}"}
    with driver_errors("connect to the database", secrets=secrets(parameters)):
        connection = AnsweringConnection.connect(
            make_conninfo("", **parameters), autocommit=True, prepare_threshold=None
        )
        try:
            read_any_text(connection)
            if check is not None:
                check(connection)
            settings = _SESSION_SETTINGS | {
                "client_encoding": NO_ENCODING if has_no_encoding(connection) else "UTF8",
                "default_transaction_read_only": "on" if read_only else "off",
                "idle_session_timeout": str(limits.idle_ms),
                "idle_in_transaction_session_timeout": str(limits.idle_ms or _IDLE_IN_TRANSACTION_MS),
            }
            # First, and by the quickest statement: the role's own timeout may be a few milliseconds.
            connection.execute(composing.SQL("SET statement_timeout = {}").format(limits.statement_ms))
            connection.execute(_SEARCH_BUILT_IN_FIRST)
            connection.execute(_SET_ALL, {"names": list(settings), "values": list(settings.values())})
            bound(connection, limits)
            if limits.idle_ms:
                with suppress(errors.InvalidParameterValue):
                    connection.execute(_CHECK_CLIENT)
        except BaseException:
            connection.close()
            raise
    if connection.info.server_version < MINIMUM_VERSION:
        version = connection.info.server_version // 10000
        connection.close()
        raise PgqOpsError(f"the server is PostgreSQL {version}; pgq-ops needs 14 or later")
    return connection


def bound(connection: AnsweringConnection, limits: Limits) -> None:
    """Bound the session's statements, lock waits and waits for an answer from now on."""
    connection.execute(_BOUND, {"statement_ms": limits.statement_ms, "lock_ms": limits.lock_ms})
    connection.patience_seconds = limits.statement_ms / 1000 + GRACE_SECONDS


@contextmanager
def row_security(connection: Connection, *, allowed: bool) -> Iterator[None]:
    """Let row-level security apply within, where the binding has seen that its policies hide nothing.

    Everywhere else it is off, and a query that it would filter fails loudly instead of finding fewer rows.
    """
    if not allowed:
        yield
        return
    connection.execute("SET row_security = on")
    try:
        yield
    finally:
        if not connection.closed and connection.info.transaction_status == pq.TransactionStatus.IDLE:
            connection.execute("SET row_security = off")
