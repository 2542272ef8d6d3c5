"""Sessions that wait for a lock, with the chain of those they wait for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pgq_ops import sql
from pgq_ops.job_table.pasting import in_one_line
from pgq_ops.stats import bounded
from pgq_ops.stats.session_ending import prepared_remedy, remedy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from psycopg import sql as composing

    from pgq_ops.db.connection import Connection

PREPARED = 0
"""The pid of whom a waiter waits for that is no session: a prepared transaction."""


@dataclass(frozen=True, slots=True)
class Waiter:
    """A session that waits for a lock, for `seconds` (None: not known), and whom it waits for (pids; 0: prepared).

    `tables`: oids of the tables that it waits for or holds locks on. `mode` and `what` describe the lock awaited.
    `blocked_by` is empty for all but the 100 that wait longest.
    """

    pid: int
    application_name: str
    user: str
    seconds: float | None
    mode: str
    what: str
    blocked_by: tuple[int, ...]
    tables: frozenset[int]


@dataclass(frozen=True, slots=True)
class Blocker:
    """A session that others wait for, whether or not it waits itself; `seconds` since its transaction began.

    `started`: that start exactly (epoch seconds as text), of a client's. Of a prepared transaction (pid 0)
    `application_name` is its gid, and `seconds` since it was prepared.
    """

    pid: int
    application_name: str
    user: str
    state: str
    seconds: float | None
    tables: frozenset[int]
    remedy: str
    started: str = ""


@dataclass(frozen=True, slots=True)
class Blocking:
    """All waiting sessions of the database, the longest first, and who is in their way, by pid."""

    waiters: tuple[Waiter, ...] = ()
    blockers: tuple[Blocker, ...] = ()

    def waiting_on(self, tables: frozenset[int]) -> tuple[Waiter, ...]:
        """The waiters that have to do with one of these tables: they wait for it, or hold locks on it meanwhile."""
        return tuple(one for one in self.waiters if one.tables & tables)


class _Row(NamedTuple):
    """A session as the statement returns it; from `waits` on, what only a waiter has."""

    pid: int
    application_name: str
    user: str
    state: str
    seconds: float | None
    started: str | None
    client: bool
    superuser: bool
    waits: bool
    waiting_seconds: float | None
    mode: str | None
    what: str | None
    blocked_by: list[int] | None
    tables: list[int] | None


def read(connection: Connection) -> Blocking:
    """Look once, waiting for nothing; raises the driver's errors. Our own sessions are no waiters.

    To be done where `Transactions.waiting` is not 0: it copies the whole table of locks.
    """
    return parsed(connection.execute(_statement(), {}).fetchall())


def parsed(found: Iterable[tuple[Any, ...]]) -> Blocking:
    """What the statement returned."""
    rows = [_Row(*row) for row in found]
    # One of whom nobody is in the way any more has got its lock meanwhile.
    waiting = [row for row in rows if row.waits and row.blocked_by != []]
    waiting.sort(key=lambda row: -(row.waiting_seconds or 0.0))
    blocking = {pid for row in waiting for pid in row.blocked_by or ()}
    return Blocking(tuple(_waiter(row) for row in waiting), tuple(_blocker(row) for row in rows if row.pid in blocking))


@cache
def _statement() -> composing.SQL:
    return bounded.composed_once(sql.statement("stats/blocking"))


def _waiter(row: _Row) -> Waiter:
    by, tables = tuple(dict.fromkeys(row.blocked_by or ())), frozenset(row.tables or ())
    what, mode = row.what or "a lock", row.mode or ""
    return Waiter(row.pid, row.application_name, row.user, row.waiting_seconds, mode, what, by, tables)


def _blocker(row: _Row) -> Blocker:
    if row.pid == PREPARED:
        how = prepared_remedy(row.application_name)
    elif row.client:
        how = remedy(row.pid, row.started, superuser=row.superuser)
    else:
        how = f"SELECT pg_cancel_backend({row.pid});  -- {in_one_line(row.state)}"
    tables = frozenset(row.tables or ())
    started = (row.started or "") if row.client else ""
    return Blocker(row.pid, row.application_name, row.user, row.state, row.seconds, tables, how, started)
