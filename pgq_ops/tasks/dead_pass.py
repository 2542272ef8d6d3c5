"""A pass over one place with dead letters: relation by relation, none of which keeps the others back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg

from pgq_ops import sql
from pgq_ops.db.failures import is_busy, is_connection_loss
from pgq_ops.job_table.dead_selection import select
from pgq_ops.tasks import dead_relations
from pgq_ops.tasks.dead_statement import Take
from pgq_ops.tasks.dead_sweep import DeadSweep, RelationBusy
from pgq_ops.tasks.dead_tally import MOST_IDS
from pgq_ops.tasks.reap_page import PageOrder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.dead_filter import DeadFilter
    from pgq_ops.job_table.dead_place import DeadPlace
    from pgq_ops.tasks.dead_statement import DeadStatement
    from pgq_ops.tasks.dead_tally import DeadTally
    from pgq_ops.tasks.task import Guard

# A person waits for the number, and the statement's timeout bounds it anyway.
MOST_COUNTED = 10_000_000


@dataclass(slots=True)
class DeadPass:
    """A pass for one filter; `limit`: how many dead letters of all places together, None for any number."""

    connection: Connection
    wanted: DeadFilter
    tally: DeadTally
    limit: int | None = None

    def plan(self, place: DeadPlace) -> None:
        """Count what is meant, up to the limit; reads only."""
        order = PageOrder.by_key(place.table)
        selection = select(place, self.wanted)
        fragments = {
            "shown_id": place.shown_id(),
            "table": place.relation.sql,
            "condition": selection.condition,
            "order": order.terms(),
        }
        left = self._left()
        parameters = {
            "limit": MOST_COUNTED if left is None else left,
            "most_ids": max(MOST_IDS, len(self.wanted.ids)),
        }
        row = self.connection.execute(
            sql.statement("dead/plan", fragments), {**selection.parameters, **parameters}
        ).fetchone()
        jobs, ids = row if row is not None else (0, None)
        self.tally.planned(place, jobs, ids or [])

    def run(
        self,
        place: DeadPlace,
        statement: Callable[[Take], DeadStatement],
        *,
        written: Sequence[str],
        deleting: bool,
        guard: Guard,
    ) -> None:
        """Change what is meant, in batches; raises the first error that kept a relation from it, after the others."""
        relations = dead_relations.writable(self.connection, place, written, deleting=deleting)
        moving = deleting or dead_relations.moves_rows(self.connection, place.table, written)
        indexed = dead_relations.is_found_by_index(self.connection, place, self.wanted)
        selection = select(place, self.wanted)
        failure: psycopg.Error | None = None
        for relation in relations:
            try:
                for order in dead_relations.orders(self.connection, place, relation, indexed=indexed):
                    take = Take(place, relation, selection, order, moving)
                    self._sweep(statement(take), guard, indexed=indexed)
            except RelationBusy:
                self.tally.busy.append(str(relation))
            except psycopg.Error as error:
                if is_connection_loss(error):
                    raise
                if is_busy(error):
                    self.tally.busy.append(str(relation))
                else:
                    failure = failure or error
        if failure is not None:
            raise failure

    def _sweep(self, statement: DeadStatement, guard: Guard, *, indexed: bool) -> None:
        left = self._left()
        if left == 0 or not guard():
            return
        scanning = {"scanning": "off" if indexed else "on"}
        self.connection.execute(sql.statement("dead/prepare_session"), scanning)
        DeadSweep(self.connection, statement, guard, self.tally, left).run()

    def _left(self) -> int | None:
        return None if self.limit is None else self.limit - self.tally.jobs
