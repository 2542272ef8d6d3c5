"""Goes through the dead letters of one relation batch by batch, and isolates those that cannot be changed.

A batch that fails is tried again at half its size until the row that fails is alone; the page then goes on behind it
and the batches grow again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg
from psycopg import errors
from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.db.failures import is_busy, is_connection_loss
from pgq_ops.tasks.dead_statement import discarded
from pgq_ops.tasks.dead_tally import MOST_LOCKED_IDS
from pgq_ops.tasks.reap_blame import a_row_may_be_to_blame, reason
from pgq_ops.tasks.reap_locks import RelationBusy
from pgq_ops.tasks.reap_statement import CopySwallowed

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.tasks.dead_statement import DeadRow, DeadStatement
    from pgq_ops.tasks.dead_tally import DeadTally
    from pgq_ops.tasks.reap_page import Page
    from pgq_ops.tasks.task import Guard

# A batch of the reaper has the same size, for the same reason (performance.md, Reaping).
BATCH_SIZE = 500
# Each that waits costs some 0.2 s. After so many, where they are more than this share of those changed, the relation is
# left.
MOST_WAITING, MOST_WAITING_SHARE = 20, 0.1
# More rows than this that somebody holds are told as this many.
MOST_LOCKED = 100_000
# The row itself was had; something that it needs (the key of an uncommitted twin) is another transaction's.
_WAITED = "it waits for another transaction"


@dataclass(slots=True)
class DeadSweep:
    """One sweep; `limit`: how many more dead letters may be changed, None for any number."""

    connection: Connection
    statement: DeadStatement
    guard: Guard
    tally: DeadTally
    limit: int | None = None
    batch_size: int = BATCH_SIZE
    changed: int = 0
    _position: list[str] | None = None
    _refused_keys: list[str] = field(default_factory=list)
    _checked_tables: bool = False
    _waited: int = 0

    def run(self) -> None:
        """Sweep until the end, or until the guard or the limit stops it; then tell of those that were passed over.

        Raises RelationBusy, ActionFailed, and the driver's errors where no row is to blame.
        """
        finished = self._sweep()
        if finished or self._position is not None:
            self._tell_locked(finished=finished)

    def _sweep(self) -> bool:
        size = self.batch_size
        while (self.limit is None or self.changed < self.limit) and self.guard():
            size = min(size, self.batch_size if self.limit is None else self.limit - self.changed)
            page = self._page()
            try:
                if size > 1:
                    size = self.statement.fitting(self.connection, page, size)
                if size > 1:
                    rows = self.statement.run(self.connection, page, size, self.tally.jobs)
                else:
                    rows = self._isolate(page)
            except (psycopg.Error, CopySwallowed) as error:
                self._raise_unless_a_row_is_to_blame(error, page)
                if size == 1:
                    raise
                size //= 2
                continue
            self._settle(rows)
            if len(rows) < size:
                return True
            self._position = rows[-1].position
            if self._waited >= MOST_WAITING and self._waited > self.changed * MOST_WAITING_SHARE:
                self._tell_locked(finished=False)
                raise RelationBusy
            size = min(size * 2, self.batch_size)
        return False

    def _page(self) -> Page:
        order = self.statement.take.order
        return order.first() if self._position is None else order.after(self._position)

    def _settle(self, rows: list[DeadRow]) -> None:
        self.changed += sum(row.refusal is None for row in rows)
        self._refused_keys += [row.key for row in rows if row.refusal is not None]
        self.tally.done(self.statement.take.place, [row for row in rows if row.refusal != _WAITED])
        waited = [row.id for row in rows if row.refusal == _WAITED]
        self._waited += len(waited)
        self.tally.locked(len(waited), waited)

    def _isolate(self, page: Page) -> list[DeadRow]:
        """Try the first row of the page alone, under its lock."""
        take = self.statement.take
        found: DeadRow | None = None
        try:
            with self.statement.transaction(self.connection):
                found = take.peek(self.connection, page)
                if found is None:
                    return []
                rows = self.statement.run(self.connection, take.order.only(found.position), 1, self.tally.jobs)
        except (psycopg.Error, CopySwallowed) as error:
            # Also at the commit, by what a deferred trigger has put off once more.
            if found is None or not _a_row_may_be_to_blame(error):
                raise
            return [found._replace(refusal=_reason(error))]
        return rows or [found._replace(refusal=discarded(take.place))]

    def _tell_locked(self, *, finished: bool) -> None:
        """Count what is still dead, and was not refused, of what was gone through: somebody else has those rows."""
        take = self.statement.take
        page, condition = take.order.first(), take.order.first().condition
        if not finished and self._position is not None:
            page = take.order.after(self._position)
            condition = composing.SQL("{} AND NOT ({})").format(condition, page.condition)
        query = sql.statement("dead/left_behind", take.fragments() | {"page": condition})
        parameters = {"skip": self._refused_keys, "cap": MOST_LOCKED, "most_ids": MOST_LOCKED_IDS}
        try:
            row = self.connection.execute(
                query, {**take.selection.parameters, **page.parameters, **parameters}
            ).fetchone()
        except psycopg.Error as error:
            # What was done must be told, whatever this costs.
            if not is_busy(error) and not isinstance(error, errors.QueryCanceled):
                raise
            return
        if row is not None and row[0]:
            self.tally.locked(row[0], row[1])

    def _raise_unless_a_row_is_to_blame(self, error: psycopg.Error | CopySwallowed, page: Page) -> None:
        """Connection, permission and cancellation concern the whole; a lock may concern a table or one row."""
        if not _a_row_may_be_to_blame(error):
            raise error
        if is_busy(error) and not self._checked_tables:
            self._checked_tables = True
            if not self._is_locked(self.statement, page):
                return
            # Jobs matter more than their history.
            unlogged = self.statement.without_log()
            if unlogged is None or self._is_locked(unlogged, page):
                raise RelationBusy from error
            self.statement = unlogged

    def _is_locked(self, statement: DeadStatement, page: Page) -> bool:
        """Whether somebody holds, or waits for, a lock on a table that the statement needs."""
        try:
            with self.connection.transaction():
                statement.explain(self.connection, page)
        except errors.LockNotAvailable:
            return True
        return False


def _a_row_may_be_to_blame(error: psycopg.Error | CopySwallowed) -> bool:
    if isinstance(error, CopySwallowed):
        return True
    return not is_connection_loss(error) and a_row_may_be_to_blame(error)


def _reason(error: psycopg.Error | CopySwallowed) -> str:
    """The database's own words, without the row's values (those may be anything)."""
    if isinstance(error, CopySwallowed):
        return "a trigger of the job table discarded the job without an error"
    if is_busy(error):
        return _WAITED
    return reason(error)
