"""Goes through one relation under one policy, batch by batch, and isolates rows that cannot be written.

A batch that fails is tried again at half its size until the row that fails is alone; the page then goes on
behind it and the batches grow again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg
from psycopg import errors

from pgq_ops.db.failures import is_busy, is_connection_loss
from pgq_ops.tasks.reap_statement import Batch, CopySwallowed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.tasks.reap_page import Page
    from pgq_ops.tasks.reap_statement import Group, ReapStatement
    from pgq_ops.tasks.task import Guard

# Each row that waits on somebody's uncommitted twin costs one lock timeout (100 ms): after two seconds of
# that the rest of the relation is left for the next pass.
MOST_LOCKED_ROWS = 20


class RelationBusy(Exception):
    """Somebody holds, or waits for, a lock that keeps everybody from writing to the relation."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that the user's own constraint or trigger refused: its address, queue and the database's reason.

    `swallowed`: without an error, by a trigger that returned NULL.
    """

    key: str
    queue: str | None
    reason: str
    swallowed: bool = False


@dataclass(slots=True)
class Sweep:
    """One sweep. `done` is called with what each committed batch changed, `refused` with each refused row."""

    connection: Connection
    statement: ReapStatement
    guard: Guard
    batch_size: int
    done: Callable[[list[Group]], None]
    refused: Callable[[Refused], None]
    skip: Sequence[str] = ()
    limit: int | None = None
    locked: int = 0
    taken: int = 0
    _checked_table: bool = field(default=False, init=False)

    def run(self) -> bool:
        """Sweep until the end (True) or until the guard, the limit or too many locked rows stop it (False).

        Raises RelationBusy, and the driver's errors where no row is to blame.
        """
        page, size = self.statement.order.first(), self.batch_size
        while self._may_go_on():
            size = min(size, self.batch_size, self.batch_size if self.limit is None else self.limit - self.taken)
            try:
                batch = self.statement.run(self.connection, page, size, self.skip)
            except (psycopg.Error, CopySwallowed) as error:
                self._raise_unless_a_row_is_to_blame(error)
                if size > 1:
                    size = size // 2
                    continue
                position, batch = self._isolate(page)
            else:
                position = batch.position
            self._settle(batch)
            if position is None or 0 < batch.jobs < size:
                return True
            page, size = self.statement.order.after(position), size * 2
        return False

    def _may_go_on(self) -> bool:
        if self.locked >= MOST_LOCKED_ROWS or (self.limit is not None and self.taken >= self.limit):
            return False
        return self.guard()

    def _settle(self, batch: Batch) -> None:
        self.taken += batch.jobs
        if written := [group for group in batch.groups if group.written]:
            self.done(written)
        reason = "a trigger of the table discarded the change without an error"
        for group in batch.groups:
            for key in group.keys or ():
                self.refused(Refused(key, group.queue, reason, swallowed=True))

    def _isolate(self, page: Page) -> tuple[list[str] | None, Batch]:
        """Try the first row of the page alone, under its lock; returns its position and what was done."""
        failure: psycopg.Error | CopySwallowed | None = None
        batch = Batch()
        with self.connection.transaction():
            found = self.statement.peek(self.connection, page, self.skip)
            if found is None:
                return None, batch
            try:
                batch = self.statement.run(self.connection, self.statement.order.only(found.position), 1)
            except (psycopg.Error, CopySwallowed) as error:
                self._raise_unless_a_row_is_to_blame(error)
                failure = error
        if failure is not None and is_busy(failure):
            self.locked += 1
        elif failure is not None:
            self.refused(Refused(found.key, found.queue, _reason(failure)))
            self.taken += 1
        return found.position, batch

    def _raise_unless_a_row_is_to_blame(self, error: psycopg.Error | CopySwallowed) -> None:
        """Connection, permission and cancellation concern the whole; a lock may concern the table or one row."""
        if isinstance(error, CopySwallowed):
            return
        if is_connection_loss(error):
            raise error
        if isinstance(
            error, errors.QueryCanceled | errors.InsufficientPrivilege | errors.UndefinedColumn | errors.UndefinedTable
        ):
            raise error
        if is_busy(error) and not self._checked_table:
            self._checked_table = True
            try:
                with self.connection.transaction():
                    self.statement.lock_table(self.connection)
            except errors.LockNotAvailable as busy:
                raise RelationBusy from busy


def _reason(error: psycopg.Error | CopySwallowed) -> str:
    """The database's own words, without the row's values (those may be anything)."""
    if isinstance(error, CopySwallowed):
        return str(error)
    constraint = f" ({error.diag.constraint_name})" if error.diag.constraint_name else ""
    return f"{error.sqlstate}: {error.diag.message_primary}{constraint}"
