"""Statements that the server parses and plans once for many executions in a row."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.db.connection import Connection

# So many executions that the driver never prepares a statement of its own accord.
_ONLY_WHEN_ASKED = 2**31
# How many plans a session keeps on the server at most, some 100 kB each; the one used longest ago goes first.
_KEPT = 8


@contextmanager
def prepared_statements(connection: Connection) -> Iterator[None]:
    """Within, `execute(..., prepare=True)` keeps the statement's plan on the server.

    For sessions that are the server's own from one statement to the next: behind a transaction pooler they are not.
    """
    connection.prepared_max = _KEPT
    connection.prepare_threshold = _ONLY_WHEN_ASKED
    try:
        yield
    finally:
        connection.prepare_threshold = None
