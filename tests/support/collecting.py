"""Collections of one job table, and what they export."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pgq_ops.db.connection import Limits, Purpose
from pgq_ops.db.session import Session
from pgq_ops.exporter.collection import Collector
from pgq_ops.exporter.store import Store
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD

if TYPE_CHECKING:
    from pgq_ops.checks.finding import Finding
    from pgq_ops.checks.look import ReapNews
    from pgq_ops.exporter.collected import Collected
    from pgq_ops.job_table.table import JobTable
    from tests.support.database import Database

# The agent's looks end after 100 ms; a test on a busy machine that is not about that gives them longer.
PATIENT = Limits(statement_ms=20_000)


@dataclass(slots=True)
class Clock:
    """Monotonic seconds that a test moves on."""

    seconds: float = 1_000.0

    def __call__(self) -> float:
        return self.seconds


@dataclass(slots=True)
class Collection:
    """The agent's collection of one job table. Each `collect()` comes ten minutes after the last one."""

    collector: Collector
    table: JobTable
    clock: Clock
    last: Collected | None = field(default=None, init=False)

    def collect(self, *, reaping: bool | None = None, news: ReapNews | None = None) -> Collected:
        self.clock.seconds += 600
        failed = self.collector.collect_database([self.table])
        self.last = self.collector.collect(self.table, reaping=reaping, news=news)
        self.last = replace(self.last, failures=(*failed, *self.last.failures))
        return self.last

    def healthy(self) -> Collection:
        """Collect, and see that nothing failed."""
        assert self.collect().failures == ()
        return self

    def values(self, name: str, **labels: str) -> dict[tuple[str, ...], float]:
        """The samples of a family, by the values of its labels other than database, job_table and the given ones."""
        found = {}
        for sample in self.collector.store.samples():
            named = dict(zip(sample.family.labels, sample.labels, strict=True))
            if sample.family.name == name and all(named[label] == value for label, value in labels.items()):
                rest = (value for label, value in named.items() if label not in {"database", "job_table", *labels})
                found[tuple(rest)] = sample.value
        return found

    def value(self, name: str, *rest: str, **labels: str) -> float | None:
        """One sample's value; None where it is absent."""
        return self.values(name, **labels).get(rest)

    def jobs(self, queue: str) -> dict[str, float]:
        """The jobs of a queue by state, zeros left out."""
        return {state: value for (state,), value in self.values("jobs", queue=queue).items() if value}

    def leases(self, queue: str) -> dict[str, float]:
        """The leases of a queue by condition, zeros left out."""
        return {condition: value for (condition,), value in self.values("leases", queue=queue).items() if value}

    def finding(self, wanted: str) -> Finding:
        """The finding of that id in the last collection."""
        found = {finding.id: finding for finding in self.last.findings} if self.last else {}
        assert wanted in found, f"only {sorted(found)} were found"
        return found[wanted]

    def finding_ids(self) -> set[str]:
        return {finding.id for finding in self.last.findings} if self.last else set()


def collection_of(
    database: Database, toml: str = FIELD, *, limits: Limits = PATIENT, role: str | None = None
) -> Collection:
    """Bind the job table and make ready to collect; nothing is read yet."""
    bound = bind_toml(database, toml, role=role)
    bound.connection.close()
    session = Session(bound.config.database, Purpose.PROBES, limits, read_only=True)
    clock = Clock()
    database.adopt(session.connection())
    return Collection(Collector(session, Store(), clock=clock), bound.table, clock)
