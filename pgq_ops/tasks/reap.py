"""Takes back expired leases: requeues the job with backoff, or buries it once its attempts reach the cap."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import psycopg

from pgq_ops import sql
from pgq_ops.db.connection import row_security
from pgq_ops.db.failures import is_busy, is_connection_loss
from pgq_ops.job_table.changes import ReapChanges, written_columns
from pgq_ops.job_table.leases import LeaseTerms
from pgq_ops.stats import leases, partition_ceiling
from pgq_ops.tasks import reap_leaves, reap_standing
from pgq_ops.tasks.reap_memory import ReapMemory
from pgq_ops.tasks.reap_pass import Pass
from pgq_ops.tasks.reap_result import ReapResult
from pgq_ops.tasks.reap_tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.config.policy import QueuePolicy
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.tasks.reap_standing import Standing
    from pgq_ops.tasks.task import Guard

# A person waits for the number, and the statement's timeout bounds it anyway.
MOST_COUNTED = 10_000_000


def _always(_: QueuePolicy) -> bool:
    return True


@dataclass(slots=True)
class _NotingGuard:
    """The guard, and whether it ever refused: then the pass was not a whole one."""

    guard: Guard
    refused: bool = False

    def __call__(self) -> bool:
        self.refused = not self.guard()
        return not self.refused


@dataclass(slots=True)
class Reap:
    """The reaper.

    The agent's own (`remembers`) goes slowly while leases expire in a mass, leaves refused rows alone for a
    while, keeps each queue's own `every`, and takes nothing from a queue that is not `settled`. A person's
    does all there is to do at once and counts what is left.
    """

    include_stale: bool = False
    remembers: bool = False
    settled: Callable[[QueuePolicy], bool] = _always
    done: dict[str, ReapResult] = field(default_factory=dict)
    """What the last run on each job table did, also where it was cut short by an error."""
    _memories: dict[str, ReapMemory] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The config section that asks for it."""
        return "reaper"

    def plan(self, connection: Connection, table: JobTable) -> ReapResult:
        """How many jobs a pass would requeue and bury now; reads only, and needs no more than SELECT.

        Raises as `run` does otherwise.
        """
        reap_standing.require_plannable(connection, table)
        with row_security(connection, allowed=table.all_visible_policies):
            return self._plan(connection, table)

    def _plan(self, connection: Connection, table: JobTable) -> ReapResult:
        requeued = buried = 0
        for policy in self._policies(table):
            fragments = {
                "table": table.relation.sql,
                "reaches_cap": ReapChanges(table, policy).reaches_cap(),
                "is_reapable": LeaseTerms(table, (policy,)).is_reapable(include_stale=self.include_stale),
                "in_policy": table.in_policy(policy),
            }
            row = connection.execute(sql.statement("reap/plan", fragments), {}).fetchone()
            requeued += int(row[0]) if row else 0
            buried += int(row[1]) if row else 0
        stale, remaining = self._left(connection, table)
        return ReapResult(requeued=requeued, dead_lettered=buried, stale=stale, remaining=remaining, dry_run=True)

    def run(self, connection: Connection, table: JobTable, guard: Guard) -> ReapResult:
        """One pass over all of the table's queues.

        Raises ConfigError for a table that lacks what reaping needs, NotInstalled where attempts would have to
        be counted in a schema that is not there, NotPermitted with the GRANT, and the driver's errors.
        """
        memory = self._memories.setdefault(table.name, ReapMemory()) if self.remembers else None
        policies = [policy for policy in self._policies(table) if self.settled(policy)]
        policies = [policy for policy in policies if memory is None or memory.is_due(policy)]
        tally = Tally(connection.info.dbname, table.name, memory)
        with row_security(connection, allowed=table.all_visible_policies):
            try:
                if policies:
                    self._pass(connection, table, guard, tally, policies)
            finally:
                result = self.done[table.name] = tally.result()
            if self.remembers:
                return result
            stale, remaining = self._left(connection, table)
            return replace(result, stale=stale, remaining=remaining)

    def _pass(
        self, connection: Connection, table: JobTable, guard: Guard, tally: Tally, policies: list[QueuePolicy]
    ) -> None:
        memory = tally.memory
        reap_standing.require_fit(table)
        standing = self._standing(connection, table, memory)
        relations = reap_leaves.writable(connection, table, written_columns(table))
        sweeps = relations
        if len(relations) > 1 and not standing.needs_scan:
            sweeps = reap_leaves.with_expired(connection, table, relations, include_stale=self.include_stale)
        ceiling = partition_ceiling.read(connection, table)
        noting = _NotingGuard(guard)
        failure: psycopg.Error | None = None
        for policy in policies if memory is None else memory.in_turn(policies, lambda policy: policy.queue):
            began = 0.0 if memory is None else memory.clock()
            one = Pass(
                connection=connection,
                table=table,
                policy=policy,
                relations=relations,
                sweeps=sweeps,
                standing=standing,
                guard=noting,
                tally=tally,
                memory=memory,
                include_stale=self.include_stale,
                ceiling=ceiling,
            )
            try:
                one.run()
            except psycopg.Error as error:
                if is_connection_loss(error):
                    raise
                failure = failure or error
                continue
            # What has expired meanwhile before the place where a resumed one went on is for the next tick.
            whole = not noting.refused and not tally.busy and (one.mass_expired > 0 or not one.resumed)
            if memory is not None and whole:
                memory.passed(policy, began)
        if failure is not None:
            raise failure

    def _policies(self, table: JobTable) -> list[QueuePolicy]:
        return [policy for policy in table.policies if policy.reaper.enabled]

    def _standing(self, connection: Connection, table: JobTable, memory: ReapMemory | None) -> Standing:
        known = memory.known_standing() if memory is not None else None
        if known is None:
            known, lasting = reap_standing.find(connection, table, memory.standing if memory is not None else None)
            if memory is not None and lasting:
                memory.found(known)
        return known

    def _left(self, connection: Connection, table: JobTable) -> tuple[int | None, int | None]:
        """How many leases are stale, and how many expired, now; None where a lock keeps them from being read."""
        try:
            found = leases.read(connection, table, cap=MOST_COUNTED)
        except psycopg.Error as error:
            if not is_busy(error):
                raise
            return None, None
        return found.total("stale"), found.total("expired")
