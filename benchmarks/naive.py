"""The way to operate a queue that people write first: the articles' statements, at our agent's intervals."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg

from benchmarks.history import statement

if TYPE_CHECKING:
    from collections.abc import Iterator

# The defaults of agent.collect_every and reaper.every.
_STATEMENTS = {"count_by_status": 5.0, "reap_at_once": 10.0}


@contextmanager
def naive_way(dsn: str) -> Iterator[None]:
    """Count and reap while the context lasts, beginning at once."""
    stop = threading.Event()
    thread = threading.Thread(target=_operate, args=(dsn, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _operate(dsn: str, stop: threading.Event) -> None:
    due = dict.fromkeys(_STATEMENTS, time.monotonic())
    with psycopg.connect(dsn, autocommit=True) as connection:
        while not stop.is_set():
            for name, every in _STATEMENTS.items():
                if time.monotonic() >= due[name]:
                    due[name] += every
                    connection.execute(statement(name), {})
            stop.wait(max(0.0, min(due.values()) - time.monotonic()))
