"""A pass over one place with dead letters: relation by relation, none of which keeps the others back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg
from psycopg import errors
from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.db.connection import row_security
from pgq_ops.db.failures import is_busy, is_connection_loss
from pgq_ops.errors import TableChanged
from pgq_ops.job_table.dead_filter import DeadFilter
from pgq_ops.job_table.dead_selection import select
from pgq_ops.tasks import dead_relations
from pgq_ops.tasks.dead_statement import Take
from pgq_ops.tasks.dead_sweep import DeadSweep
from pgq_ops.tasks.dead_unchanged import PartitionGone, require_attached
from pgq_ops.tasks.reap_locks import RelationBusy
from pgq_ops.tasks.reap_page import PageOrder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.dead_place import DeadPlace
    from pgq_ops.job_table.table import Relation
    from pgq_ops.tasks.dead_statement import DeadStatement
    from pgq_ops.tasks.dead_tally import DeadTally
    from pgq_ops.tasks.task import Guard

# A person waits for the number, and the statement's timeout bounds it anyway.
MOST_COUNTED = 10_000_000
# Enough to see which jobs are meant.
PLANNED_IDS = 10
_NOT_TOLD = composing.SQL("NULL::bigint")


@dataclass(slots=True)
class DeadPass:
    """A pass for one filter; `limit`: how many dead letters of all places together, None for any number."""

    connection: Connection
    wanted: DeadFilter
    tally: DeadTally
    limit: int | None = None

    def plan(self, place: DeadPlace, attempts_left: composing.Composable = _NOT_TOLD) -> None:
        """Count what is meant, up to the limit; reads only. `attempts_left`: how many runs a job will have left.

        Raises ConfigError, the driver's errors but for a lock, which is told as in a run.
        """
        with row_security(self.connection, allowed=place.table.all_visible_policies):
            try:
                self._plan(place, attempts_left)
                self._tell_missing_apart(place)
            except psycopg.Error as error:
                if not is_busy(error):
                    raise
                self.tally.busy.append(str(place.relation))
                self.tally.are_there(self.tally.missing())

    def _plan(self, place: DeadPlace, attempts_left: composing.Composable) -> None:
        order = PageOrder.by_key(place.table)
        selection = select(place, self.wanted)
        fragments = {
            "shown_id": place.shown_id(),
            "table": place.relation.sql,
            "condition": selection.condition,
            "order": order.terms(),
            "attempts_left": attempts_left,
            # Else all are counted, whatever their order, which would have to be made first.
            "counted_order": composing.SQL("" if self.limit is None else "ORDER BY {}").format(order.terms()),
        }
        left = self._left()
        parameters = {
            "limit": MOST_COUNTED if left is None else left,
            "most_ids": max(PLANNED_IDS, len(self.wanted.ids)),
        }
        row = self.connection.execute(
            sql.statement("dead/plan", fragments), {**selection.parameters, **parameters}
        ).fetchone()
        jobs, least, most, ids = row if row is not None else (0, None, None, None)
        self.tally.planned(place, jobs, ids or [], (least, most))

    def run(
        self,
        place: DeadPlace,
        statement: Callable[[Take], DeadStatement],
        *,
        written: Sequence[str],
        deleting: bool,
        guard: Guard,
    ) -> None:
        """Change what is meant, in batches; raises the first error that kept a relation from it, after the others.

        Once it is known that no policy hides a row of the place. A way back writes to the job table too.
        """
        back = bool(written) and place.job_table.all_visible_policies
        with row_security(self.connection, allowed=place.table.all_visible_policies or back):
            try:
                failure = self._relations(place, statement, written=written, deleting=deleting, guard=guard)
            except TableChanged:
                self._tell_missing_apart(place)
                raise
            self._tell_missing_apart(place)
        if failure is not None:
            raise failure

    def _relations(
        self,
        place: DeadPlace,
        statement: Callable[[Take], DeadStatement],
        *,
        written: Sequence[str],
        deleting: bool,
        guard: Guard,
    ) -> psycopg.Error | PartitionGone | None:
        relations = dead_relations.writable(self.connection, place, written, deleting=deleting)
        moving = deleting or dead_relations.moves_rows(self.connection, place.table, written)
        indexed = dead_relations.is_found_by_index(self.connection, place, self.wanted)
        selection = select(place, self.wanted)
        failure: psycopg.Error | PartitionGone | None = None
        for relation in relations:
            try:
                for order in dead_relations.orders(self.connection, place, relation, indexed=indexed):
                    take = Take(place, relation, selection, order, moving)
                    self._sweep(statement(take), guard, indexed=indexed)
            except RelationBusy:
                self.tally.busy.append(str(relation))
            except PartitionGone as error:
                failure = failure or error
            except errors.UndefinedTable as error:
                failure = failure or self._gone_or(error, place, relation)
            except psycopg.Error as error:
                if is_connection_loss(error):
                    raise
                if is_busy(error):
                    self.tally.busy.append(str(relation))
                else:
                    failure = failure or error
        return failure

    def _gone_or(self, error: psycopg.Error, place: DeadPlace, relation: Relation) -> psycopg.Error | PartitionGone:
        try:
            require_attached(self.connection, place, relation)
        except PartitionGone as gone:
            return gone
        return error

    def _sweep(self, statement: DeadStatement, guard: Guard, *, indexed: bool) -> None:
        left = self._left()
        if left == 0 or not guard():
            return
        scanning = {"scanning": "off" if indexed else "on"}
        self.connection.execute(sql.statement("dead/prepare_session"), scanning)
        DeadSweep(self.connection, statement, guard, self.tally, left).run()

    def _tell_missing_apart(self, place: DeadPlace) -> None:
        """Of the ids that were not met, those of dead letters that are there: a lock, or the limit, kept them."""
        if not (missing := self.tally.missing()):
            return
        selection = select(place, DeadFilter(ids=missing))
        fragments = {"shown_id": place.shown_id(), "table": place.relation.sql, "condition": selection.condition}
        try:
            rows = self.connection.execute(sql.statement("dead/ids_there", fragments), selection.parameters).fetchall()
        except psycopg.Error as error:
            if not is_busy(error) and not isinstance(error, errors.QueryCanceled):
                raise
            # Nobody knows.
            self.tally.are_there(missing)
        else:
            self.tally.are_there(one for (one,) in rows)

    def _left(self) -> int | None:
        return None if self.limit is None else self.limit - self.tally.jobs
