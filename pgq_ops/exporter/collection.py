"""Runs the probes and the checks over the job tables, each in its time, and keeps what they say in the store.

    collector = Collector(session, Store())
    collected = collector.collect(table, reaping=True, news=ReapNews())   # raises nothing a database can cause
    collected.findings, collected.failures, collected.reached

What all job tables of the database share is looked at before them, by `collect_database`. One Collector a session, used
by one thread.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.checks.look import DatabaseLook, Look, ReapNews, UpkeepNews
from pgq_ops.checks.registry import NEEDS, findings_of, unjudged_by
from pgq_ops.errors import PgqOpsError
from pgq_ops.exporter import health
from pgq_ops.exporter.collected import Collected
from pgq_ops.exporter.known import Known, Shared
from pgq_ops.exporter.runs import ProbeFailure, Runs
from pgq_ops.job_table.queue_labels import queue_labels
from pgq_ops.probes.database_memory import DatabaseMemory
from pgq_ops.probes.memory import Memory
from pgq_ops.probes.registry import DATABASE_PROBES, PROBES
from pgq_ops.stats.observed import Observations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pgq_ops.checks.finding import Finding
    from pgq_ops.db.connection import Connection
    from pgq_ops.db.session import Session
    from pgq_ops.exporter.store import Store
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.metrics import Sample
    from pgq_ops.probes.probe import DatabaseProbe, Probe

# The key in the store for what the collection says of itself.
_HEALTH = "collection"


@dataclass(slots=True)
class Collector:
    """Collects over one session. `clock()` is monotonic seconds."""

    session: Session
    store: Store
    probes: tuple[Probe, ...] = PROBES
    database_probes: tuple[DatabaseProbe, ...] = DATABASE_PROBES
    clock: Callable[[], float] = time.monotonic
    database: str = ""
    """The database's name; until the first session is there, the one that is expected."""
    warn_after_seconds: float = 60.0
    """From when on a transaction is a long one."""
    observations: Observations = field(default_factory=Observations)
    """What the tasks are to know of the job tables."""
    _tables: dict[str, Known] = field(default_factory=dict)
    _shared: Shared | None = None

    def collect_database(self, tables: Iterable[JobTable]) -> tuple[ProbeFailure, ...]:
        """Run what is due once for all of these job tables; gives what failed, and nothing where nobody was reached."""
        try:
            connection = self.session.connection()
        except Exception:  # noqa: BLE001  # each job table's own collection tells of it
            self._forget_shared()
            return ()
        self.database = connection.info.dbname
        shared = self._shared
        if shared is None or shared.memory.database != self.database:
            memory = DatabaseMemory(self.database, self.clock)
            shared = self._shared = Shared(memory, self._runs("", memory.drop_rows))
        shared.memory.warn_after_seconds = self.warn_after_seconds
        shared.memory.tables = {table.name: self._oids(table) for table in tables}
        failures = shared.runs.run_due(
            connection, self.database_probes, lambda probe: probe.collect(connection, shared.memory)
        )
        self.store.put("", _HEALTH, shared.runs.samples(self.database))
        return tuple(failures)

    def collect(
        self,
        table: JobTable,
        *,
        reaping: bool | None = None,
        reaping_seconds: float | None = None,
        news: ReapNews | None = None,
        upkeep: UpkeepNews | None = None,
    ) -> Collected:
        """Run what is due. `reaping`: whether an agent takes the table's expired leases back, and for how long."""
        try:
            connection = self.session.connection()
        except Exception as error:  # noqa: BLE001  # whatever keeps us from the database, the rest goes on
            return self._not_reached(table, error)
        self.database = connection.info.dbname
        known = self._known(table)
        before = known.memory.depths
        try:
            failures = known.run_due(connection, self.probes)
        except Exception as error:  # noqa: BLE001  # as above
            return self._not_reached(table, error)
        if failures and failures[-1].lost:
            return self._not_reached(table, failures[-1].error)
        memory = known.memory
        try:
            # Where no look told the time, none has shown either that the database is there.
            now = memory.depths.at if memory.depths not in (None, before) else _now(connection)
        except Exception as error:  # noqa: BLE001  # as above
            return self._not_reached(table, error)
        if known.runs.success.get("jobs"):
            known.looked_at = now
        database = self._database_look()
        look = Look(
            table,
            memory.depths,
            memory.leases,
            memory.support,
            reaping,
            reaping_seconds,
            news or ReapNews(),
            upkeep or UpkeepNews(),
            claim=memory.claim,
            best_claim=memory.best_claim,
            claim_statements=memory.claim_statements,
            ready_locked=memory.ready_locked,
            health=known.keepers.told(memory.health, database.horizon),
            index_bloat=memory.index_bloat,
            leftover_indexes=memory.leftover_indexes,
            database=database,
        )
        self._observe(known, look)
        findings = findings_of(look)
        self.store.put(table.name, _HEALTH, self._health(known, findings))
        return Collected(look, findings, tuple(failures), reached=True, unjudged=unjudged_by(self._looked(known)))

    def unreachable(self, job_table: str) -> None:
        """Say that a job table could not be looked at at all: `pgqops_up` 0, the rest absent."""
        self._forget_table(job_table)
        self.store.put(job_table, _HEALTH, [health.UP.sample(0, self.database, job_table)])

    def forget(self, job_table: str) -> None:
        """Export nothing more of a job table: another agent leads it, or it is configured no longer."""
        self._forget_table(job_table)
        self._tables.pop(job_table, None)
        if not self._tables:
            self._forget_shared()

    def _runs(self, key: str, forget: Callable[[str], None]) -> Runs:
        return Runs(self.session, self.store, key, self.clock, forget)

    def _known(self, table: JobTable) -> Known:
        known = self._tables.get(table.name)
        if known is None or known.table.relation != table.relation or known.memory.database != self.database:
            memory = Memory(self.database, queue_labels(self.database, table.name), self.clock)
            known = Known(table, memory, self._runs(table.name, memory.drop_rows))
            self._tables[table.name] = known
        if known.table is not table:
            known.table, known.memory.support = table, None
        known.memory.labels.configure(policy.queue for policy in table.policies if policy.queue is not None)
        return known

    def _oids(self, table: JobTable) -> frozenset[int]:
        known = self._tables.get(table.name)
        seen = known.memory.health if known is not None else None
        return frozenset({table.relation.oid, *(leaf.oid for leaf in (seen.leaves if seen else ()))})

    def _database_look(self) -> DatabaseLook:
        if self._shared is None:
            return DatabaseLook(warn_after_seconds=self.warn_after_seconds)
        memory = self._shared.memory
        return DatabaseLook(memory.horizon, memory.transactions, memory.blocking, memory.warn_after_seconds)

    def _looked(self, known: Known) -> frozenset[str]:
        """The probes whose last run succeeded."""
        shared = self._shared.runs.success if self._shared is not None else {}
        return frozenset(probe for probe, success in (known.runs.success | shared).items() if success)

    def _observe(self, known: Known, look: Look) -> None:
        """Tell the tasks nothing but what was seen just now."""
        if look.health is None:
            self.observations.forget(look.table.name)
        else:
            observed = known.observing.observed(look.health, look.claim, look.database.horizon)
            self.observations.put(look.table.name, observed)

    def _forget_table(self, job_table: str) -> None:
        self.store.forget(job_table)
        self.observations.forget(job_table)

    def _forget_shared(self) -> None:
        self.store.forget("")
        self._shared = None

    def _not_reached(self, table: JobTable, error: Exception) -> Collected:
        if not isinstance(error, PgqOpsError):
            self.session.discard()
        self._forget_shared()
        self.observations.forget(table.name)
        known = self._known(table)
        known.runs.not_reached(self.probes)
        self.store.put(table.name, _HEALTH, self._health(known, ()))
        failures = (ProbeFailure("connection", error, lost=True),)
        return Collected(Look(table), (), failures, reached=False, unjudged=frozenset(NEEDS))

    def _health(self, known: Known, findings: Iterable[Finding]) -> Iterator[Sample]:
        labels = (self.database, known.table.name)
        yield health.UP.sample(known.runs.success.get("jobs", False), *labels)
        if known.looked_at is not None:
            yield health.TIMESTAMP.sample(known.looked_at, *labels)
        yield from known.runs.samples(self.database)
        for finding in sorted({(finding.id, str(finding.severity)) for finding in findings}):
            yield health.FINDINGS.sample(1, *labels, *finding)


def _now(connection: Connection) -> float:
    row = connection.execute(sql.statement("stats/clock"), {}).fetchone()
    return float(row[0]) if row else 0.0
