"""One pass of the reaper under one policy: relation by relation, held back while leases expire in a mass."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg

from pgq_ops import sql
from pgq_ops.db.failures import is_busy, is_connection_loss
from pgq_ops.job_table.leases import LeaseTerms
from pgq_ops.job_table.quoting import plain_name
from pgq_ops.stats.index_support import Question
from pgq_ops.tasks.reap_locks import RelationBusy
from pgq_ops.tasks.reap_page import STRETCH_BLOCKS, PageOrder
from pgq_ops.tasks.reap_statement import ReapStatement
from pgq_ops.tasks.reap_sweep import Sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import sql as composing

    from pgq_ops.config.policy import QueuePolicy
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable, Relation
    from pgq_ops.tasks.reap_memory import ReapMemory
    from pgq_ops.tasks.reap_standing import Standing
    from pgq_ops.tasks.reap_tally import Tally
    from pgq_ops.tasks.task import Guard

# A share of this many running rows is as good as one of all.
SHARE_SAMPLE = 10_000


@dataclass(slots=True)
class Pass:
    """A pass over the table or its leaves: `sweeps` are those of all `relations` that may hold an expired lease.

    Without `memory` nothing holds it back. `resumed`: somewhere it went on where the one before was cut short.
    `requeues_only`: somebody holds the dead-letter table, and what has to be buried waits for a later pass.
    """

    connection: Connection
    table: JobTable
    policy: QueuePolicy
    relations: list[Relation]
    sweeps: list[Relation]
    standing: Standing
    guard: Guard
    tally: Tally
    memory: ReapMemory | None
    include_stale: bool = False
    ceiling: composing.Composable | None = None
    taken: int = 0
    mass_expired: int = 0
    resumed: bool = False
    requeues_only: bool = False

    def run(self) -> None:
        """Reap all that can be reaped; raises the first error that kept a relation from it, after the others."""
        failure: psycopg.Error | None = None
        for relation in self._in_turn():
            if not self.guard() or self.mass_expired:
                break
            self._take_turn(relation)
            try:
                self._relation(relation)
            except RelationBusy:
                self.tally.busy.append(str(relation))
            except psycopg.Error as error:
                if is_connection_loss(error):
                    raise
                if is_busy(error):
                    self.tally.busy.append(str(relation))
                else:
                    failure = failure or error
        self.tally.mass_expired += self.mass_expired
        if self.memory is not None:
            self.memory.mass_expiry(self.policy.queue, going_on=self.mass_expired > 0)
        if failure is not None:
            raise failure

    def _in_turn(self) -> list[Relation]:
        """The relations to sweep; after a pass that was cut short, the next one begins where it stopped."""
        return self.sweeps if self.memory is None else self.memory.in_turn(self.sweeps, self._place)

    def _take_turn(self, relation: Relation) -> None:
        if self.memory is not None:
            self.memory.took_turn(self.policy.queue)
            self.memory.took_turn(self._place(relation))

    def _place(self, relation: Relation) -> tuple[int, str | None]:
        return relation.oid, self.policy.queue

    def _relation(self, relation: Relation) -> None:
        begun = time.monotonic()
        for order in self._orders(relation):
            if not self._sweep(relation, order):
                return
        if self.memory is not None and self.standing.needs_scan:
            self.memory.scanned(relation.oid, time.monotonic() - begun)

    def _orders(self, relation: Relation) -> Iterator[PageOrder]:
        """One order where an index helps; else stretches of the heap, from where the last pass stopped."""
        if not self.standing.needs_scan or (self.table.partitioned and relation == self.table.relation):
            lease = LeaseTerms(self.table, (self.policy,)).column()
            by_lease = Question.EXPIRED_IN_ORDER in self.standing.serving and self.policy.lease.missing_after is None
            yield PageOrder.by_lease(self.table, lease) if lease and by_lease else PageOrder.by_key(self.table)
            return
        if self.memory is not None and not self.memory.may_scan(relation.oid):
            return
        row = self.connection.execute(
            sql.statement("reap/blocks"), {"name": plain_name(relation.schema, relation.name)}
        ).fetchone()
        place = self._place(relation)
        begin = self.memory.next_block.pop(place, 0) if self.memory is not None else 0
        self.resumed = self.resumed or begin > 0
        for block in range(begin, int(row[0]) if row else 0, STRETCH_BLOCKS):
            if self.memory is not None:
                self.memory.next_block[place] = block
            yield PageOrder.by_stretch(block)
        if self.memory is not None:
            self.memory.next_block.pop(place, None)

    def _sweep(self, relation: Relation, order: PageOrder) -> bool:
        """Sweep one page order; False where the pass must stop here."""
        limit = None
        if self.memory is not None:
            limit = self.memory.first_limit(self.policy.queue, self.policy.reaper.mass_expiry) - self.taken
        if limit is None or limit > 0:
            finished, limited = self._run_sweep(relation, order, limit)
            if finished or not limited:
                return finished
        self.mass_expired = self._mass_expired()
        if self.mass_expired:
            return False
        return self._run_sweep(relation, order, None)[0]

    def _run_sweep(self, relation: Relation, order: PageOrder, limit: int | None) -> tuple[bool, bool]:
        """Whether the end was reached, and whether it was the limit that stopped it."""
        settings = {"may_sort": "off" if order.indexed else "on"}
        self.connection.execute(sql.statement("reap/prepare_session"), settings)
        name = (*self._place(relation), order.types, order.stretch)
        start = self.memory.resume(name) if self.memory is not None else None
        self.resumed = self.resumed or (start is not None and start.position is not None)
        sweep = Sweep(
            connection=self.connection,
            statement=self._statement(relation, order),
            guard=self.guard,
            batch_size=self.policy.reaper.batch_size,
            done=self.tally.done,
            refused=lambda row: self.tally.refused(relation.oid, row),
            skip=self.memory.skipped(relation.oid) if self.memory is not None else (),
            limit=limit,
            start=start,
            hasty=self.memory is not None,
        )
        try:
            finished = sweep.run()
        finally:
            if self.memory is not None:
                self.memory.cut_short(name, sweep.cut)
            self._note_burial(sweep.statement)
        self.taken += sweep.taken
        return finished, limit is not None and sweep.taken >= limit

    def _statement(self, relation: Relation, order: PageOrder) -> ReapStatement:
        return ReapStatement(
            self.table,
            relation,
            self.policy,
            order,
            self.include_stale,
            self.ceiling,
            self.standing.logged,
            self.requeues_only,
        )

    def _note_burial(self, statement: ReapStatement) -> None:
        """Note that somebody holds the dead-letter table: the next relation is not to wait for it once more."""
        letters = self.table.dead_letters
        if statement.requeues_only and letters is not None:
            self.requeues_only = True
            if (name := str(letters.relation)) not in self.tally.busy:
                self.tally.busy.append(name)

    def _mass_expired(self) -> int:
        """How many leases are expired, if more than both the fraction of the running jobs and the minimum; else 0.

        A leaf that cannot be read now is left out. Rows of this pass count as expired and running; past the
        sample it is the least number.
        """
        expired = running = self.taken
        terms = LeaseTerms(self.table, (self.policy,))
        fragments = {
            "is_reapable": terms.is_reapable(include_stale=self.include_stale),
            "is_running": self.table.is_state("running"),
            "in_policy": self.table.in_policy(self.policy),
        }
        for relation in self.relations:
            query = sql.statement("reap/expired_share", fragments | {"table": relation.sql})
            try:
                row = self.connection.execute(query, {"cap": SHARE_SAMPLE}).fetchone()
            except psycopg.Error as error:
                if not is_busy(error):
                    raise
                continue
            expired += int(row[0]) if row else 0
            running += int(row[1]) if row else 0
        guard = self.policy.reaper.mass_expiry
        return expired if expired > max(guard.minimum, guard.fraction * running) else 0
