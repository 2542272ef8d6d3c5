"""A connection that does not wait for ever: an answer that does not come ends it."""

from __future__ import annotations

import os
import socket
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.waiting import Ready

from pgq_ops.db.undecodable import AnyTextInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from psycopg.abc import PQGen

    from pgq_ops.db.connection import Connection

Result = TypeVar("Result")

# The server ends a statement at its own timeout and says so. That this news takes so long means that it never comes:
# a stopped proxy, or a frozen server, whose kernel acknowledges everything, so that no keepalive fails.
GRACE_SECONDS = 10.0


class AnsweringConnection(psycopg.Connection[tuple[Any, ...]]):
    """Cuts itself, as `cut()` does, when the server says nothing for `patience_seconds` that it was asked for.

    The statement at hand then raises OperationalError. libpq's own timeouts see a network that swallows packets,
    and end no wait for somebody who acknowledges them and does not answer.
    """

    patience_seconds = GRACE_SECONDS
    between: Callable[[], None] | None = None
    """Called by `pause()`, on the connection's own thread, when nothing is under way."""
    _heard_at = 0.0
    _waiting = False
    _meanwhile: Callable[[], None] | None = None

    @property
    def info(self) -> AnyTextInfo:
        """What is known of the connection."""
        return AnyTextInfo(self.pgconn)

    def wait(self, gen: PQGen[Result], *args: Any, **options: Any) -> Result:  # noqa: ANN401 (the driver's own)
        """Wait for an answer, as psycopg does; raises OperationalError when it does not come."""
        self._waiting = True
        try:
            return super().wait(self._heard(gen), *args, **options)
        finally:
            self._heard_at = time.monotonic()  # first: another thread may look in between
            self._waiting = False

    def idle_seconds(self) -> float:
        """Seconds since the last answer; 0 while one is waited for, as only the server knows how idle it is then."""
        return 0.0 if self._waiting else time.monotonic() - self._heard_at

    @contextmanager
    def expecting(self, seconds: float) -> Iterator[None]:
        """Wait for the answers within no longer than so many seconds each."""
        before, self.patience_seconds = self.patience_seconds, seconds
        try:
            yield
        finally:
            self.patience_seconds = before

    @contextmanager
    def meanwhile(self, look: Callable[[], None]) -> Iterator[None]:
        """Call `look` about ten times a second within, while an answer is waited for; it may cancel the statement."""
        before, self._meanwhile = self._meanwhile, look
        try:
            yield
        finally:
            self._meanwhile = before

    def cut(self) -> None:
        """Cut the connection, from any thread: whoever waits for its answer gets an error at once."""
        with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(self.fileno())) as end:
            end.shutdown(socket.SHUT_RDWR)

    def _heard(self, gen: PQGen[Result]) -> PQGen[Result]:
        """The generator of the driver that talks to the server, with a look at the clock while nothing comes.

        The driver resumes it ten times a second (`Ready.NONE`), so that an interrupt is noticed.
        """
        heard_at, over = time.monotonic(), False
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if self._meanwhile is not None:
                    self._meanwhile()
                if ready != Ready.NONE:
                    heard_at = time.monotonic()
                elif not over and time.monotonic() - heard_at >= self.patience_seconds:
                    over = True
                    self.cut()
                wanted = gen.send(ready)
        except StopIteration as end:
            result: Result = end.value
            return result
        except psycopg.OperationalError as error:
            if over:
                text = f"the server did not answer within {self.patience_seconds:.0f} s, and the connection was cut"
                raise psycopg.OperationalError(text) from error
            raise


def pause(connection: Connection) -> None:
    """Let whoever waits for a word in between statements have it. Nothing happens within a transaction."""
    if not isinstance(connection, AnsweringConnection) or connection.between is None:
        return
    if connection.info.transaction_status == TransactionStatus.IDLE:
        connection.between()
