"""A session that is opened when it is needed, and again after a loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.db.connection import connect
from pgq_ops.errors import DatabaseUnreachable

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.config.model import Database
    from pgq_ops.db.answers import AnsweringConnection
    from pgq_ops.db.connection import Connection, Limits, Purpose


@dataclass(slots=True)
class Session:
    """One connection that is opened when needed and again after a loss.

    Used by one thread at a time, but for `cancel()` and `abort()`. `losses` counts how often an established
    connection, or an attempt to make one, failed. `check` is called with each new connection before anything
    is set on it, and may refuse it by raising. `between`: called now and then while its user is between two statements.
    """

    database: Database
    purpose: Purpose
    limits: Limits
    read_only: bool = False
    direct: bool = False
    check: Callable[[Connection], None] | None = None
    between: Callable[[], None] | None = None
    losses: int = 0
    _connection: AnsweringConnection | None = field(default=None, repr=False)

    def connection(self) -> AnsweringConnection:
        """The open connection, made anew if there is none; raises DatabaseUnreachable, NotPermitted, ConfigError."""
        if self._connection is not None and (self._connection.closed or self._connection.broken):
            self.discard()
        if self._connection is None:
            try:
                self._connection = connect(
                    self.database,
                    self.purpose,
                    self.limits,
                    read_only=self.read_only,
                    direct=self.direct,
                    check=self.check,
                )
            except DatabaseUnreachable:
                self.losses += 1
                raise
            self._connection.between = self.between
        return self._connection

    @property
    def current(self) -> AnsweringConnection | None:
        """The connection as it is, open or lost; None where there is none."""
        return self._connection

    def discard(self) -> None:
        """Give up a connection that is lost or no longer trusted, and count it."""
        if self._connection is not None:
            self.losses += 1
        self.close()

    def close(self) -> None:
        """End the session, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def cancel(self) -> None:
        """Cancel the statement at hand, from another thread; nothing happens where none runs."""
        connection = self._connection
        if connection is not None and not connection.closed:
            connection.cancel_safe(timeout=2)

    def abort(self) -> None:
        """Cut the connection, from another thread: whoever waits for its answer gets an error at once."""
        connection = self._connection
        if connection is not None and not connection.closed:
            connection.cut()
