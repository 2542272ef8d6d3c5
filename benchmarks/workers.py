"""Workers that enqueue, claim and complete one job at a time, each a process with a session of its own."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING

import psycopg

from benchmarks.history import statement
from pgq_ops.demo.statements import statement as demo_statement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection as Pipe

# As in performance.md: the machine's ceiling was measured with so many connections.
WORKERS = 8
_ANSWER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Worked:
    """What all workers did in a stretch of time: jobs a second, and how long each claim took, in seconds."""

    jobs_per_second: float
    claims: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Workers:
    """Running workers, idle until they are told to work."""

    pipes: tuple[Pipe, ...]

    def work(self, seconds: float, jobs_per_second: float = 0.0) -> Worked:
        """Work for so long, at a rate for all of them together or (0) as fast as they can."""
        began = time.perf_counter()
        for pipe in self.pipes:
            pipe.send((seconds, jobs_per_second / len(self.pipes)))
        claims: list[float] = []
        for pipe in self.pipes:
            if not pipe.poll(seconds + _ANSWER_SECONDS):
                raise TimeoutError("a worker does not answer")
            claims += pipe.recv()
        return Worked(len(claims) / (time.perf_counter() - began), tuple(claims))


@contextmanager
def workers(dsn: str) -> Iterator[Workers]:
    """Start them; they are killed in the end."""
    context = get_context("spawn")
    pairs = [context.Pipe() for _ in range(WORKERS)]
    processes = [
        context.Process(target=_serve, args=(theirs, dsn, f"worker-{number}"), daemon=True)
        for number, (_, theirs) in enumerate(pairs)
    ]
    for process in processes:
        process.start()
    try:
        yield Workers(tuple(ours for ours, _ in pairs))
    finally:
        for process in processes:
            process.kill()
            process.join()


def _serve(pipe: Pipe, dsn: str, name: str) -> None:
    with psycopg.connect(dsn, autocommit=True, application_name=name) as connection:
        # The processor is to be what limits them: it is what an agent could take from them.
        connection.execute("SET synchronous_commit = off")
        while True:
            seconds, rate = pipe.recv()
            pipe.send(_work(connection, name, seconds, rate))


def _work(connection: psycopg.Connection[tuple[object, ...]], name: str, seconds: float, rate: float) -> list[float]:
    """Seconds of each claim. A job that is late is done at once, so that the rate is kept where it can be."""
    enqueue = statement("enqueue").as_bytes(connection)
    claim, complete = (demo_statement(name).as_bytes(connection) for name in ("claim", "complete"))
    claims: list[float] = []
    due = began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        if rate:
            due += 1 / rate
            time.sleep(max(0.0, due - time.perf_counter()))
        connection.execute(enqueue, {})
        asked = time.perf_counter()
        row = connection.execute(claim, {"worker": name, "lease_seconds": 300.0}).fetchone()
        claims.append(time.perf_counter() - asked)
        if row is not None:
            connection.execute(complete, {"job": row[0], "version": row[1]})
    return claims
