"""Leadership of job tables: session-level advisory locks on the very connection that writes."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.db.failures import driver_errors
from pgq_ops.errors import PgqOpsError
from pgq_ops.leader.key import lock_key
from pgq_ops.leader.pooler import SharedServerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pgq_ops.db.answers import AnsweringConnection
    from pgq_ops.db.session import Session
    from pgq_ops.leader.settle import Settle


# A look takes a millisecond. Without an answer the leader cannot know whether it still is one.
LOOK_SECONDS = 10.0


class ReadOnlyServer(PgqOpsError):
    """The server is a standby: nobody leads there. The connection is given up, so that the next one looks anew."""

    exit_code = 3

    def __init__(self) -> None:
        super().__init__("the server is a standby (in recovery): nobody leads there; connecting anew")


@dataclass(frozen=True, slots=True)
class Proof:
    """The leader's server process, and the key of the advisory lock that it holds."""

    pid: int
    key: int


class Leadership:
    """Which job tables this session leads. `prove` and `take` belong to the session's thread, the rest to any.

    What is led is bound to the connection that took the locks: once that is gone, or has been idle for as long as the
    server bears with it, nothing is led, at once and without asking the server. Closing the session is giving up
    leadership. Whatever `prove` and `take` raise, nothing is led then, and the next `prove` connects anew.
    """

    def __init__(self, session: Session, mode: str, settle: Settle) -> None:
        self._session = session
        self._mode = mode
        self._settle = settle
        self._connection: AnsweringConnection | None = None
        self._keys: dict[str, int] = {}
        self._held: frozenset[int] = frozenset()

    def prove(self) -> AnsweringConnection:
        """Return the session's connection, made anew after a loss, on which the server confirms each lock we count on.

        Raises DatabaseUnreachable, ReadOnlyServer on a standby, SharedServerProcess behind a transaction pooler.
        """
        with self._nothing_on_error():
            connection = self._session.connection()
            if connection is not self._connection:
                self._connection, self._held = connection, frozenset()
            in_recovery, uptime_seconds, confirmed = _look(connection)
            if in_recovery:
                raise ReadOnlyServer
            self._settle.connected(uptime_seconds, self._session.losses)
            if not self._held <= confirmed:
                raise SharedServerProcess
            return connection

    def take(self, tables: Mapping[str, int]) -> frozenset[str]:
        """Try for the job tables not led yet, give back those that are gone; returns the names of those led now.

        `tables` maps names to table oids. Raises what `prove` raises.
        """
        keys = {name: lock_key(oid, self._mode) for name, oid in tables.items()}
        wanted = frozenset(keys.values())
        with self._nothing_on_error():
            connection = self._session.connection()
            if surplus := self._held - wanted:
                self._held &= wanted
                connection.execute(sql.statement("leader/unlock"), {"keys": sorted(surplus)})
            if missing := sorted(wanted - self._held):
                rows = connection.execute(sql.statement("leader/try_locks"), {"keys": missing}).fetchall()
                taken = frozenset(int(key) for (key,) in rows)
                if taken and not taken <= _look(connection)[2]:
                    raise SharedServerProcess
                self._held |= taken
        self._keys = keys
        return self.led()

    def led(self) -> frozenset[str]:
        """The names of the job tables led now."""
        held = self._held if self.connection() is not None else frozenset()
        return frozenset(name for name, key in self._keys.items() if key in held)

    def holds(self, name: str) -> bool:
        """Whether this session leads the job table `name`."""
        return self._keys.get(name) in self._held and self.connection() is not None

    def leads_in(self, name: str) -> str | None:
        """The name of the database in which this session leads the job table `name`; None while it does not."""
        connection = self.connection()
        return connection.info.dbname if connection is not None and self.holds(name) else None

    def proof(self, name: str) -> Proof | None:
        """What other sessions find in `pg_locks` while this one leads the job table `name`; None while it does not."""
        connection = self.connection()
        if connection is None or not self.holds(name):
            return None
        return Proof(connection.info.backend_pid, self._keys[name])

    def connection(self) -> AnsweringConnection | None:
        """The unbroken connection that holds the locks; None once it is lost, or before there is one."""
        connection = self._connection
        if connection is None or connection.closed or connection.broken or self._has_lapsed(connection):
            return None
        return connection

    def _has_lapsed(self, connection: AnsweringConnection) -> bool:
        """Whether the server will have ended the session by now: this process was stopped, or had no time to ask."""
        longest = self._session.limits.idle_ms / 1000
        return 0 < longest <= connection.idle_seconds()

    @contextmanager
    def _nothing_on_error(self) -> Iterator[None]:
        try:
            with driver_errors("take or prove leadership"):
                yield
        except BaseException:
            self._held = frozenset()
            self._session.discard()
            raise


def _look(connection: AnsweringConnection) -> tuple[bool, float, frozenset[int]]:
    """Whether the server is a standby, its uptime in seconds, and the keys of the locks that this session holds."""
    with connection.expecting(LOOK_SECONDS):
        [(in_recovery, uptime_seconds, keys)] = connection.execute(sql.statement("leader/look"), {}).fetchall()
    return in_recovery, uptime_seconds, frozenset(keys)
