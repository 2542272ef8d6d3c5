"""One of two job tables under the same churn: its workers, and what is seen of it each second."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING, Any, Self

import psycopg

from benchmarks.history import statement
from benchmarks.workers import workers

if TYPE_CHECKING:
    from threading import Event

    from benchmarks.workers import Workers


@dataclass(frozen=True, slots=True)
class Sample:
    """`at` is monotonic seconds; dead rows as they are counted; pages that finding the next job took."""

    at: float
    dead_rows: int
    buffers: int


@dataclass(slots=True)
class Side:
    """A job table. As a context manager its workers are there, and a session that looks on."""

    name: str
    dsn: str
    samples: list[Sample] = field(default_factory=list)
    claims: list[tuple[float, tuple[float, ...]]] = field(default_factory=list)
    """When a stretch of work began, and how long each claim of it took, in seconds."""
    _stack: ExitStack = field(default_factory=ExitStack)
    _crew: Workers | None = None
    _looking: psycopg.Connection[Any] | None = None

    def __enter__(self) -> Self:
        """Start the workers."""
        self._crew = self._stack.enter_context(workers(self.dsn))
        self._looking = self._stack.enter_context(psycopg.connect(self.dsn, autocommit=True))
        self._looking.execute("SET enable_indexonlyscan = off")
        return self

    def __exit__(self, *_: object) -> None:
        """End them."""
        self._stack.close()

    def ceiling(self, seconds: float) -> float:
        """Jobs a second as fast as they can."""
        return self._working().work(seconds).jobs_per_second

    def churn(self, stopped: Event, jobs_per_second: float, stretch_seconds: float) -> Thread:
        """Work at that rate until it is stopped, in stretches."""

        def work() -> None:
            while not stopped.is_set():
                began = time.monotonic()
                self.claims.append((began, self._working().work(stretch_seconds, jobs_per_second).claims))

        thread = Thread(target=work)
        thread.start()
        return thread

    def look(self) -> None:
        """Take a sample."""
        [[dead]] = self._asked("dead_rows")
        [[[explained]]] = self._asked("claim_buffers")
        plan = explained["Plan"]
        buffers = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        self.samples.append(Sample(time.monotonic(), int(dead), int(buffers)))

    def index_bytes(self) -> int:
        """The size of its indexes."""
        [[size]] = self._asked("index_bytes")
        return int(size)

    def hold(self) -> psycopg.Connection[Any]:
        """A session that holds a snapshot of this table's database."""
        holder = psycopg.connect(self.dsn, application_name="report")
        holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        holder.execute("SELECT FROM demo_queue_jobs LIMIT 1")
        return holder

    def between(self, begin: float, end: float) -> list[Sample]:
        """The samples of a time."""
        return [sample for sample in self.samples if begin <= sample.at < end]

    def claims_between(self, begin: float, end: float) -> list[float]:
        """The claims of the stretches that began in a time."""
        return [claim for at, claims in self.claims if begin <= at < end for claim in claims]

    def _asked(self, name: str) -> list[tuple[Any, ...]]:
        if self._looking is None:
            raise ValueError("the side was not entered")
        return self._looking.execute(statement(name), {}).fetchall()

    def _working(self) -> Workers:
        if self._crew is None:
            raise ValueError("the side was not entered")
        return self._crew
