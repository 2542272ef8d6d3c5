"""Connections: how every session of pgq-ops is opened, bounded, named and closed."""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors, pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgq_ops.errors import ConfigError, DatabaseUnreachable, NotPermitted, PgqOpsError, Problem

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
    PostgreSQL cancel a running autovacuum (postgres-facts.md, Autovacuum).
    """

    statement_ms: int
    lock_ms: int = 100


# A look may take this long (performance.md: a full collection keeps to 100 ms under heavy bloat).
# Its lock wait is the shorter one, so that a locked table is told from a look that is too slow.
PROBE_LIMITS = Limits(statement_ms=100, lock_ms=50)
# A batch of the reaper takes tens of milliseconds; without any index it scans a stretch of the table.
WRITE_LIMITS = Limits(statement_ms=30_000)
# Somebody waits for a command's answer.
COMMAND_LIMITS = Limits(statement_ms=5_000)

# libpq's side: a dead server is noticed within about 14 s. A DSN's own values win.
_CLIENT_DEFAULTS = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "3",
    "keepalives_count": "3",
    "tcp_user_timeout": "14000",
}

# The server's side: it lets go of a dead client's locks within about 14 s (tried, postgres-facts.md), and no
# timeout of the role or database may end an idle leader. Settings that a version lacks are left out.
_SESSION_SETTINGS = {
    "client_encoding": "UTF8",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "standard_conforming_strings": "on",
    "extra_float_digits": "1",
    "default_transaction_isolation": "read committed",
    "default_transaction_deferrable": "off",
    "row_security": "off",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "idle_in_transaction_session_timeout": "30s",
    "idle_session_timeout": "0",
    "transaction_timeout": "0",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "3",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "14s",
    "client_connection_check_interval": "0",
}

_SET_ALL = """
SELECT set_config(s.name, s.value, false)
FROM unnest(%(names)s::text[], %(values)s::text[]) AS s(name, value)
WHERE current_setting(s.name, true) IS NOT NULL
"""
_BOUND = """
SELECT set_config('statement_timeout', %(statement_ms)s::text, false),
       set_config('lock_timeout', greatest(1, least(%(lock_ms)s, extract(epoch FROM
           current_setting('deadlock_timeout')::interval) * 500))::int::text, false)
"""


@dataclass(slots=True)
class Session:
    """One connection that is opened when needed and again after a loss.

    Used by one thread at a time, but for `cancel()` and `abort()`. `losses` counts how often an established
    connection, or an attempt to make one, failed. `check` is called with each new connection before anything
    is set on it, and may refuse it by raising.
    """

    database: Database
    purpose: Purpose
    limits: Limits
    read_only: bool = False
    direct: bool = False
    check: Callable[[Connection], None] | None = None
    losses: int = 0
    _connection: Connection | None = field(default=None, repr=False)

    def connection(self) -> Connection:
        """The open connection, made anew if there is none; raises DatabaseUnreachable, NotPermitted, ConfigError."""
        if self._connection is not None and (self._connection.closed or self._connection.broken):
            self.discard()
        if self._connection is None:
            try:
                self._connection = connect(
                    self.database,
                    self.purpose,
                    self.limits,
                    read_only=self.read_only,
                    direct=self.direct,
                    check=self.check,
                )
            except DatabaseUnreachable:
                self.losses += 1
                raise
        return self._connection

    def discard(self) -> None:
        """Give up a connection that is lost or no longer trusted, and count it."""
        if self._connection is not None:
            self.losses += 1
        self.close()

    def close(self) -> None:
        """End the session, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def cancel(self) -> None:
        """Cancel the statement at hand, from another thread; nothing happens where none runs."""
        connection = self._connection
        if connection is not None and not connection.closed:
            connection.cancel_safe(timeout=2)

    def abort(self) -> None:
        """Cut the connection, from another thread: whoever waits for its answer gets an error at once."""
        connection = self._connection
        if connection is not None and not connection.closed:
            with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as end:
                end.shutdown(socket.SHUT_RDWR)


def connect(  # noqa: PLR0913 (what a session is, each by its name)
    database: Database,
    purpose: Purpose,
    limits: Limits,
    *,
    read_only: bool = False,
    direct: bool = False,
    check: Callable[[Connection], None] | None = None,
) -> Connection:
    """Open and set up a session in autocommit mode.

    `direct` uses `direct_dsn` where there is one; `check` sees the connection before anything is set on it.
    Raises ConfigError for a DSN that cannot be read, DatabaseUnreachable when no session can be had.
    """
    parameters = _parameters(database, direct=direct) | {"application_name": f"pgq-ops/{purpose}"}
    with driver_errors("connect to the database", secrets=_secrets(parameters)):
        connection = psycopg.connect(make_conninfo("", **parameters), autocommit=True, prepare_threshold=None)
        try:
            if check is not None:
                check(connection)
            settings = _SESSION_SETTINGS | {"default_transaction_read_only": "on" if read_only else "off"}
            connection.execute(_SET_ALL, {"names": list(settings), "values": list(settings.values())})
            bound(connection, limits)
        except BaseException:
            connection.close()
            raise
    if connection.info.server_version < MINIMUM_VERSION:
        version = connection.info.server_version // 10000
        connection.close()
        raise PgqOpsError(f"the server is PostgreSQL {version}; pgq-ops needs 14 or later")
    return connection


def bound(connection: Connection, limits: Limits) -> None:
    """Bound the session's statements and lock waits from now on."""
    connection.execute(_BOUND, {"statement_ms": limits.statement_ms, "lock_ms": limits.lock_ms})


def _parameters(database: Database, *, direct: bool) -> dict[str, Any]:
    """The DSN as libpq's keywords, with our defaults for what neither it nor the environment says."""
    key, secret = "database.dsn", database.dsn
    if direct and database.direct_dsn is not None:
        key, secret = "database.direct_dsn", database.direct_dsn
    dsn = secret.get_secret_value() if secret is not None else ""
    given = _parsed(key, dsn)
    known = {option.keyword.decode(): option.val for option in pq.Conninfo.get_defaults()}
    for name, value in _CLIENT_DEFAULTS.items():
        if name not in given and not known.get(name):
            given[name] = value
    if "," in str(given.get("host", "")):
        given.setdefault("target_session_attrs", "read-write")
    return given


def _parsed(key: str, dsn: str) -> dict[str, Any]:
    """The DSN as libpq itself reads it. Its error texts quote pieces of it, maybe of the password: never shown."""
    hint = (
        "in a URI write @ : / ? # % and spaces in user and password percent-encoded;"
        " in key=value form quote values with '...'"
    )
    try:
        parsed: dict[str, Any] = conninfo_to_dict(dsn)
    except psycopg.Error:
        raise ConfigError((Problem(key, "is not a connection string that libpq can read", hint),)) from None
    ports = [port for port in str(parsed.get("port", "")).split(",") if port]
    uri = dsn.startswith(("postgresql://", "postgres://"))
    if any(not port.isdigit() for port in ports) or (
        uri and any("@" in str(parsed.get(part, "")) for part in ("host", "dbname"))
    ):
        raise ConfigError(
            (Problem(key, "is read by libpq with a piece of the password as host, port or database", hint),)
        )
    return parsed


def _secrets(parameters: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(parameters[name]) for name in ("password", "sslpassword") if parameters.get(name))


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


@contextmanager
def driver_errors(doing: str, secrets: tuple[str, ...] = ()) -> Iterator[None]:
    """Turn the driver's errors into ours: `doing` says what was tried ("read the jobs")."""
    try:
        yield
    except errors.InsufficientPrivilege as error:
        raise NotPermitted(f"could not {doing}: {_message(error, secrets)}") from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        if is_connection_loss(error):
            raise DatabaseUnreachable(f"could not {doing}: {_message(error, secrets)}") from error
        raise PgqOpsError(f"could not {doing}: {_message(error, secrets)}") from error
    except psycopg.Error as error:
        raise PgqOpsError(f"could not {doing}: {_message(error, secrets)}") from error


def is_connection_loss(error: BaseException) -> bool:
    """Whether the session is gone or of no more use, a server that became read-only included (25006)."""
    if isinstance(error, errors.ReadOnlySqlTransaction | psycopg.InterfaceError):
        return True
    if not isinstance(error, psycopg.OperationalError):
        return False
    state = error.sqlstate
    return state is None or state[:2] in ("08", "28", "3D") or state in ("57P01", "57P02", "57P03", "57P05", "53300")


def is_busy(error: BaseException) -> bool:
    """Whether a lock or a deadlock stood in the way: to be tried again later, no failure."""
    return isinstance(error, errors.LockNotAvailable | errors.DeadlockDetected | errors.SerializationFailure)


def _message(error: psycopg.Error, secrets: tuple[str, ...]) -> str:
    text = error.diag.message_primary or str(error) or type(error).__name__
    for secret in secrets:
        text = text.replace(secret, "***")
    return " ".join(text.split())
