"""Runs the probes and the checks over the job tables, each in its time, and keeps what they say in the store.

    collector = Collector(session, Store())
    collected = collector.collect(table, reaping=True, news=ReapNews())   # raises nothing a database can cause
    collected.findings, collected.failures, collected.reached

Duration and success of each probe are measured here, in one place. A probe that took t is not run again
before 100 t, and its values stand until then; one that failed on a lock or the connection is tried again at
the next call. A failed probe's values are gone at once. One Collector a session, used by one thread.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.checks.look import Look, ReapNews
from pgq_ops.checks.registry import findings_of
from pgq_ops.db.connection import row_security
from pgq_ops.db.failures import is_busy, is_connection_loss
from pgq_ops.errors import PgqOpsError
from pgq_ops.exporter import health
from pgq_ops.exporter.pace import Pace
from pgq_ops.job_table.queue_labels import queue_labels
from pgq_ops.probes.memory import Memory
from pgq_ops.probes.registry import PROBES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pgq_ops.checks.finding import Finding
    from pgq_ops.db.connection import Connection
    from pgq_ops.db.session import Session
    from pgq_ops.exporter.store import Store
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.metrics import Sample
    from pgq_ops.probes.probe import Probe

# The key in the store for what the collection says of itself.
_HEALTH = "collection"


@dataclass(frozen=True, slots=True)
class ProbeFailure:
    """A probe that failed: to be logged once by the caller. `lost`: the connection was to blame."""

    probe: str
    error: Exception
    lost: bool


@dataclass(frozen=True, slots=True)
class Collected:
    """One collection of one job table. `reached`: the database answered; `whole`: each probe's last run succeeded."""

    look: Look
    findings: tuple[Finding, ...]
    failures: tuple[ProbeFailure, ...]
    reached: bool
    whole: bool


@dataclass(slots=True)
class _Known:
    """What is remembered of a job table between collections."""

    table: JobTable
    memory: Memory
    pace: Pace
    duration: dict[str, float] = field(default_factory=dict)
    success: dict[str, bool] = field(default_factory=dict)
    looked_at: float | None = None


@dataclass(slots=True)
class Collector:
    """Collects over one session. `clock()` is monotonic seconds."""

    session: Session
    store: Store
    probes: tuple[Probe, ...] = PROBES
    clock: Callable[[], float] = time.monotonic
    database: str = ""
    """The database's name; until the first session is there, the one that is expected."""
    _tables: dict[str, _Known] = field(default_factory=dict)

    def collect(
        self,
        table: JobTable,
        *,
        reaping: bool | None = None,
        reaping_seconds: float | None = None,
        news: ReapNews | None = None,
    ) -> Collected:
        """Run what is due. `reaping`: whether an agent takes the table's expired leases back, and for how long."""
        try:
            connection = self.session.connection()
        except Exception as error:  # noqa: BLE001  # whatever keeps us from the database, the rest goes on
            return self._not_reached(table, error)
        self.database = connection.info.dbname
        known = self._known(table)
        before = known.memory.depths
        failures = self._run_due(connection, known)
        if failures and failures[-1].lost:
            return self._not_reached(table, failures[-1].error)
        depths = known.memory.depths
        try:
            # Where no look told the time, none has shown either that the database is there.
            now = depths.at if depths is not None and depths is not before else _now(connection)
        except Exception as error:  # noqa: BLE001  # as above
            return self._not_reached(table, error)
        if known.success.get("jobs"):
            known.looked_at = now
        look = Look(
            table,
            depths,
            known.memory.leases,
            known.memory.support,
            reaping,
            reaping_seconds,
            news or ReapNews(),
        )
        findings = findings_of(look)
        self.store.put(table.name, _HEALTH, self._health(table.name, known, findings))
        return Collected(look, findings, tuple(failures), reached=True, whole=all(known.success.values()))

    def unreachable(self, job_table: str) -> None:
        """Say that a job table could not be looked at at all: `pgqops_up` 0, the rest absent."""
        self.store.forget(job_table)
        self.store.put(job_table, _HEALTH, [health.UP.sample(0, self.database, job_table)])

    def forget(self, job_table: str) -> None:
        """Export nothing more of a job table: another agent leads it, or it is configured no longer."""
        self.store.forget(job_table)
        self._tables.pop(job_table, None)

    def _known(self, table: JobTable) -> _Known:
        known = self._tables.get(table.name)
        if known is None or known.table.relation != table.relation or known.memory.database != self.database:
            labels = queue_labels(self.database, table.name)
            known = _Known(table, Memory(self.database, labels, self.clock), Pace(self.clock))
            self._tables[table.name] = known
        if known.table is not table:
            known.table, known.memory.support = table, None
        known.memory.labels.configure(policy.queue for policy in table.policies if policy.queue is not None)
        return known

    def _run_due(self, connection: Connection, known: _Known) -> list[ProbeFailure]:
        """Run what is due, up to a failure that the connection is to blame for."""
        failures: list[ProbeFailure] = []
        for probe in self.probes:
            if known.pace.is_due(probe.name) and not (failures and failures[-1].lost):
                failures += self._run(probe, connection, known)
        return failures

    def _run(self, probe: Probe, connection: Connection, known: _Known) -> Iterator[ProbeFailure]:
        """One probe, measured; yields its failure, if it failed."""
        began = self.clock()
        name = known.table.name
        try:
            with row_security(connection, allowed=known.table.all_visible_policies):
                samples = probe.collect(connection, known.table, known.memory)
            self.store.put(name, probe.name, samples)
            known.success[probe.name] = True
        except Exception as error:  # noqa: BLE001  # one probe's failure never stops the others
            known.success[probe.name] = False
            self.store.remove(name, probe.name)
            known.memory.drop_rows(probe.name)
            lost = is_connection_loss(error) or connection.closed
            if lost:
                self.session.discard()
            yield ProbeFailure(probe.name, error, lost)
            blocked = lost or is_busy(error)
        else:
            blocked = False
        known.duration[probe.name] = self.clock() - began
        if blocked:
            known.pace.blocked(probe.name)
        else:
            known.pace.looked(probe.name, known.duration[probe.name])

    def _not_reached(self, table: JobTable, error: Exception) -> Collected:
        if not isinstance(error, PgqOpsError):
            self.session.discard()
        known = self._known(table)
        for probe in self.probes:
            known.success[probe.name] = False
            self.store.remove(table.name, probe.name)
            known.memory.drop_rows(probe.name)
            known.pace.blocked(probe.name)
        known.duration.clear()
        self.store.put(table.name, _HEALTH, self._health(table.name, known, ()))
        failures = (ProbeFailure("connection", error, lost=True),)
        return Collected(Look(table), (), failures, reached=False, whole=False)

    def _health(self, name: str, known: _Known, findings: Iterable[Finding]) -> Iterator[Sample]:
        labels = (self.database, name)
        yield health.UP.sample(known.success.get("jobs", False), *labels)
        if known.looked_at is not None:
            yield health.TIMESTAMP.sample(known.looked_at, *labels)
        for probe, success in known.success.items():
            yield health.SUCCESS.sample(success, *labels, probe)
        for probe, seconds in known.duration.items():
            yield health.DURATION.sample(seconds, *labels, probe)
        for finding in sorted({(finding.id, str(finding.severity)) for finding in findings}):
            yield health.FINDINGS.sample(1, *labels, *finding)


def _now(connection: Connection) -> float:
    row = connection.execute(sql.statement("stats/clock"), {}).fetchone()
    return float(row[0]) if row else 0.0
