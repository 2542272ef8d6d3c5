"""Workers that were thought dead: their heartbeats arrive while their leases are taken back."""

from __future__ import annotations

import random
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import psycopg

from benchmarks.history import statement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection as Pipe

EVERY_SECONDS = 0.004
_ANSWER_SECONDS = 60.0


@dataclass(slots=True)
class Heartbeats:
    """How long each took in seconds, filled in once they have ended."""

    seconds: list[float] = field(default_factory=list)


@contextmanager
def heartbeats(dsn: str, first: int, last: int) -> Iterator[Heartbeats]:
    """Send heartbeats for jobs between two ids, each at its time whether or not the one before was answered.

    They come from a process of their own over one session. One that the one before kept waiting counts from the
    moment when it was due: that is how long its worker would have waited. Their commits do not wait for the disk,
    so that what they wait for is the row.
    """
    found = Heartbeats()
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_send, args=(theirs, dsn, first, last), daemon=True)
    process.start()
    try:
        _answer(ours)
        ours.send("begin")
        yield found
        ours.send("end")
        found.seconds = _answer(ours)
    finally:
        process.kill()
        process.join()


def _answer(pipe: Pipe) -> Any:  # noqa: ANN401 (whatever the process sends)
    if not pipe.poll(_ANSWER_SECONDS):
        raise TimeoutError("the heartbeats' process does not answer")
    return pipe.recv()


def _send(pipe: Pipe, dsn: str, first: int, last: int) -> None:
    beat = statement("heartbeat")
    seconds: list[float] = []
    with psycopg.connect(dsn, autocommit=True) as connection:
        text = beat.as_bytes(connection)
        connection.execute("SET synchronous_commit = off")
        connection.execute(text, {"job": 0})
        pipe.send("ready")
        pipe.recv()
        due = time.perf_counter()
        while not _ended(pipe, due):
            due += EVERY_SECONDS
            time.sleep(max(0.0, due - time.perf_counter()))
            connection.execute(text, {"job": random.randint(first, last)})
            seconds.append(time.perf_counter() - due)
        pipe.send(seconds)


def _ended(pipe: Pipe, due: float) -> bool:
    """Whether the end was asked for; those that were due before it are sent first."""
    return time.perf_counter() - due < EVERY_SECONDS and pipe.poll()
