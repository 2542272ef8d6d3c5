"""Goes through one relation under one policy, batch by batch, and isolates rows that cannot be written.

A batch that fails is tried again at half its size until the row that fails is alone; the page then goes on
behind it and the batches grow again. A sweep that is cut short tells where the next one may go on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg
from psycopg import errors

from pgq_ops.db.failures import is_busy, is_connection_loss
from pgq_ops.db.prepared import prepared_statements
from pgq_ops.tasks.reap_batch import Batch
from pgq_ops.tasks.reap_blame import a_row_may_be_to_blame, reason
from pgq_ops.tasks.reap_locks import around_locks
from pgq_ops.tasks.reap_statement import CopySwallowed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.tasks.reap_batch import Group
    from pgq_ops.tasks.reap_page import Page
    from pgq_ops.tasks.reap_statement import Place, ReapStatement
    from pgq_ops.tasks.task import Guard

# Each row that waits on somebody's uncommitted twin costs one lock timeout (100 ms), each that is refused a dead row
# version and some milliseconds: after this many the agent leaves the rest of the relation for the next pass.
MOST_LOCKED_ROWS = 20
MOST_REFUSED_ROWS = 200

# The name of the row's queue cannot be read: its bytes are no text, in a database that does not ask for an encoding.
_NO_UNICODE = (errors.CharacterNotInRepertoire, errors.UntranslatableCharacter)


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that the user's own constraint or trigger refused: its address, queue and the database's reason.

    `swallowed`: without an error, by a trigger that returned NULL. `locked`: not refused, but waiting for a lock.
    """

    key: str
    queue: str | None
    reason: str
    swallowed: bool = False
    locked: bool = False


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a sweep was cut short: the position that was passed last (None: none yet), and the size of its batches."""

    position: list[str] | None
    size: int


@dataclass(slots=True)
class Sweep:
    """One sweep. `done` is called with what each committed batch changed, `refused` with each row that was not taken.

    `start` is where an earlier sweep was cut short, `cut` where this one was. A `hasty` one leaves the rest for the
    next pass once it met too many rows that cannot be written.
    """

    connection: Connection
    statement: ReapStatement
    guard: Guard
    batch_size: int
    done: Callable[[list[Group]], None]
    refused: Callable[[Refused], None]
    skip: Sequence[str] = ()
    limit: int | None = None
    start: Cut | None = None
    hasty: bool = True
    locked: int = 0
    taken: int = 0
    cut: Cut | None = None
    _refused: int = field(default=0, init=False)

    def run(self) -> bool:
        """Sweep until the end (True) or until the guard, the limit or too many rows in the way stop it (False).

        `statement` is then one that leaves out what somebody holds. Raises RelationBusy, and the driver's errors where
        no row is to blame.
        """
        with prepared_statements(self.connection):
            return self._run()

    def _run(self) -> bool:
        begin = self.start or Cut(None, self.batch_size)
        self.cut, size = begin, begin.size
        page = self._page(begin.position)
        while self._may_go_on():
            size = min(size, self.batch_size, self.batch_size if self.limit is None else self.limit - self.taken)
            if size > 1:
                try:
                    batch = self.statement.run(self.connection, page, size, self.skip)
                except (psycopg.Error, CopySwallowed) as error:
                    self._raise_unless_a_row_is_to_blame(error)
                    size = size // 2
                    self.cut = Cut(self.cut.position, size)
                    continue
                position = batch.position
            else:
                position, batch = self._isolate(page)
            self._settle(batch)
            if position is None or 0 < batch.jobs < size:
                self.cut = None
                return True
            page, size = self._page(position), size * 2 if batch.jobs else size
            self.cut = Cut(position, size)
        return False

    def _page(self, position: list[str] | None) -> Page:
        order = self.statement.order
        return order.first() if position is None else order.after(position)

    def _may_go_on(self) -> bool:
        if self.hasty and (self.locked >= MOST_LOCKED_ROWS or self._refused >= MOST_REFUSED_ROWS):
            return False
        if self.limit is not None and self.taken >= self.limit:
            return False
        return self.guard()

    def _settle(self, batch: Batch) -> None:
        self.taken += batch.jobs
        if written := [group for group in batch.groups if group.written]:
            self.done(written)
        discarded = "a trigger of the table discarded the change without an error"
        for group in batch.groups:
            for key in group.keys or ():
                self._refuse(Refused(key, group.queue, discarded, swallowed=True))

    def _refuse(self, row: Refused) -> None:
        self.locked += row.locked
        self._refused += not row.locked
        self.refused(row)

    def _isolate(self, page: Page, *, with_queue: bool = True) -> tuple[list[str] | None, Batch]:
        """Try the first row of the page alone, under its lock; returns its position and what was done."""
        found: Place | None = None
        statement = self.statement
        try:
            with self.connection.transaction():
                found = statement.peek(self.connection, page, self.skip, with_queue=with_queue)
                if found is None:
                    return None, Batch()
                batch = statement.run(self.connection, statement.order.only(found.position), 1)
        except (psycopg.Error, CopySwallowed) as error:
            # Also at the commit, by what a deferred trigger has put off once more.
            if found is None:
                if with_queue and isinstance(error, _NO_UNICODE):
                    return self._isolate(page, with_queue=False)
                raise
            self._raise_unless_a_row_is_to_blame(error)
            if self.statement is not statement:
                return self._isolate(page)
            locked = is_busy(error)
            why = str(error) if isinstance(error, CopySwallowed) else reason(error)
            self._refuse(Refused(found.key, found.queue, why, locked=locked))
            self.taken += not locked
            return found.position, Batch()
        return found.position, batch

    def _raise_unless_a_row_is_to_blame(self, error: psycopg.Error | CopySwallowed) -> None:
        """Connection, permission and cancellation concern the whole; a lock may concern a table or one row."""
        if isinstance(error, CopySwallowed):
            return
        if is_connection_loss(error) or not a_row_may_be_to_blame(error):
            raise error
        if isinstance(error, errors.QueryCanceled) and not self.guard():
            raise error
        if is_busy(error):
            self.statement = around_locks(self.connection, self.statement)
