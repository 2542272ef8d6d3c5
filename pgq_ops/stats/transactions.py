"""Client sessions with an open transaction in this database."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.stats import bounded
from pgq_ops.stats.session_ending import printed, remedy

if TYPE_CHECKING:
    from psycopg import sql as composing

    from pgq_ops.db.connection import Connection

IDLE = "idle in transaction"
"""The state of those that wait for their client. Where a statement failed, it keeps nothing, and is none here."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """One session's transaction. `started` is its exact start (epoch seconds as text), by which it is recognised.

    `seconds`: since it began; `idle_seconds`: since it last did anything, None while a statement runs. `xid_age`: None
    where it holds no snapshot and has written nothing. `superuser`: its role is one.
    """

    pid: int
    started: str
    application_name: str
    user: str
    client: str
    state: str
    seconds: float
    idle_seconds: float | None
    xid_age: int | None
    superuser: bool
    query: str = ""

    @property
    def session(self) -> str:
        """What `pgq-ops transactions end` takes."""
        return printed(self.pid, self.started)

    @property
    def idle(self) -> bool:
        """Whether it waits for its client."""
        return self.state == IDLE

    @property
    def holds_vacuum(self) -> bool:
        """Whether VACUUM has to keep rows for it."""
        return self.xid_age is not None

    @property
    def remedy(self) -> str:
        """The command that ends it."""
        return remedy(self.pid, self.started, superuser=self.superuser)


@dataclass(frozen=True, slots=True)
class Transactions:
    """The longest first. `visible`: whether the role sees other sessions; without it `sessions` are its own at most.

    `waiting`: how many sessions wait for a lock just now, those without a transaction's start included. `hidden`: how
    many do not tell what they do (track_activities is off), so that whether they are in a transaction is not known.
    """

    sessions: tuple[Transaction, ...] = ()
    visible: bool = True
    waiting: int = 0
    hidden: int = 0

    def longer_than(self, seconds: float) -> tuple[Transaction, ...]:
        """Those that began longer ago."""
        return tuple(one for one in self.sessions if one.seconds > seconds)

    def idle_for(self, seconds: float) -> tuple[Transaction, ...]:
        """Those that have been idle for longer, the longest idle first."""
        idle = [one for one in self.sessions if one.idle and (one.idle_seconds or 0.0) > seconds]
        return tuple(sorted(idle, key=lambda one: -(one.idle_seconds or 0.0)))


def read(connection: Connection) -> Transactions:
    """Look once, waiting for nothing; raises the driver's errors.

    Left out are our own sessions, and whoever vacuums or builds an index concurrently.
    """
    [rows] = bounded.planned(connection, [_statement()], {})
    whole = rows[0][:3]
    return Transactions(tuple(Transaction(*row[3:]) for row in rows if row[3] is not None), *whole)


@cache
def _statement() -> composing.SQL:
    return bounded.composed_once(sql.statement("stats/transactions"))
