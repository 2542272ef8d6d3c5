"""Jobs whose leases expire all at once, and the two ways to take them back."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors

from benchmarks.bound import bound
from benchmarks.history import settle, statement
from pgq_ops.db.connection import WRITE_LIMITS, Purpose
from pgq_ops.tasks.reap import Reap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.bound import Bound

# Live jobs beside the expired ones, which no reaper may touch.
LIVE = 2_000


@dataclass(frozen=True, slots=True)
class Reaped:
    """A pass: how long it took, its longest transaction (an upper bound), and how many jobs it took back."""

    seconds: float
    longest_transaction_seconds: float
    jobs: int


@dataclass(frozen=True, slots=True)
class Expired:
    """The expired jobs, ids `first` to `last`, of the database at `dsn`."""

    dsn: str
    first: int
    last: int
    admin: psycopg.Connection[Any]
    ours: Bound

    @property
    def jobs(self) -> int:
        """How many there are."""
        return self.last - self.first + 1

    def expire(self) -> None:
        """Make them expired again, whatever became of them, in a table without dead rows.

        The checkpoint comes first: so the pages that reaping will write were written since, and both ways find
        WAL files to be used again, as on a server that has run for a while.
        """
        self.admin.execute("CHECKPOINT")
        self.admin.execute(statement("expire"), {"first": self.first, "last": self.last})
        settle(self.admin)

    def at_once(self, timeout_seconds: float = 0, name: str = "reap_at_once") -> Reaped:
        """One UPDATE, in `sql/<name>.sql`; takes nothing back where it takes longer than the timeout (0: none)."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute("SELECT set_config('statement_timeout', %s, false)", [f"{timeout_seconds}s"])
            began = time.perf_counter()
            try:
                jobs = connection.execute(statement(name), {}).rowcount
            except errors.QueryCanceled:
                jobs = 0
            seconds = time.perf_counter() - began
        return Reaped(seconds, seconds, jobs)

    def at_once_with_backoff(self) -> Reaped:
        """One UPDATE that writes what the reaper writes."""
        return self.at_once(name="reap_at_once_with_backoff")

    def in_batches(self) -> Reaped:
        """The first pass of an agent's reaper.

        A transaction lies between two questions to the guard, or between the last one and the end.
        """
        asked: list[float] = []

        def guard() -> bool:
            asked.append(time.perf_counter())
            return True

        began = time.perf_counter()
        result = Reap(remembers=True).run(self.ours.connection, self.ours.table, guard)
        ended = time.perf_counter()
        longest = max(after - before for before, after in zip(asked, [*asked[1:], ended], strict=True))
        return Reaped(ended - began, longest, result.requeued + result.dead_lettered)


@contextmanager
def expired(dsn: str, jobs: int) -> Iterator[Expired]:
    """Add the jobs, and some that are live, to a history."""
    with (
        psycopg.connect(dsn, autocommit=True) as admin,
        bound(dsn, Purpose.COMMAND, WRITE_LIMITS) as ours,
    ):
        day = {"from_seconds": 43_200.0, "to_seconds": 86_400.0}
        admin.execute(statement("insert_running"), {"rows": LIVE, **day})
        row = admin.execute(statement("insert_running"), {"rows": jobs, **day}).fetchone()
        first, last = row or (0, 0)
        yield Expired(dsn, first, last, admin, ours)


@contextmanager
def stuck_row(dsn: str, job: int) -> Iterator[None]:
    """A session that has locked a job's row and does nothing more."""
    with psycopg.connect(dsn) as connection:
        connection.execute("SELECT FROM demo_queue_jobs WHERE id = %s FOR UPDATE", [job])
        yield
        connection.rollback()


@contextmanager
def held_snapshot(dsn: str) -> Iterator[None]:
    """A session that keeps vacuum, and index scans, from removing what dies from now on."""
    with psycopg.connect(dsn) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT count(*) FROM pg_class")
        yield
        connection.rollback()
