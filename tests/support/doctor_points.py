"""Single points of the production checklist, judged as `pgq-ops doctor` judges them, on a table of the test's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops.checks.look import Look
from pgq_ops.checks.production.examination import Examination
from pgq_ops.checks.production.judging import judge
from pgq_ops.checks.production.verdict import Outcome
from pgq_ops.db.connection import Limits
from pgq_ops.stats import index_support, leases, queue_depths, table_health
from tests.support.agent import wait_until
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, FIELD_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.finding import Finding
    from pgq_ops.checks.production.registry import Point
    from pgq_ops.checks.production.verdict import Verdict
    from tests.support.database import Database

# As the command's, with more time for a busy machine.
PATIENT = Limits(statement_ms=20_000, lock_ms=50)

# The table of the field cases, to be partitioned by time; and its partitions.
BY_RUN_AT = FIELD_TABLE.replace("PRIMARY KEY", "NOT NULL").rstrip().removesuffix(")") + ") PARTITION BY RANGE (run_at)"
YEARS = {
    "jobs_2020": "('2020-01-01') TO ('2021-01-01')",
    "jobs_2021": "('2021-01-01') TO ('2022-01-01')",
    "jobs_later": "('2022-01-01') TO (MAXVALUE)",
}


@dataclass(frozen=True, slots=True)
class Doctor:
    """One examination of the table in `toml`: what is read once stays as it was when it was first asked for."""

    examination: Examination

    def verdict(self, point: Point) -> Verdict:
        [judged] = judge(self.examination, [point], float("inf"))
        assert judged.id == point.ID
        return judged.verdict

    def finding(self, point: Point) -> Finding:
        """The point's finding: it has the point's id, and says what it is about and what to do."""
        found = self.verdict(point)
        assert found.outcome is Outcome.FINDING, found.text
        assert found.finding is not None
        assert found.finding.id == point.ID
        assert found.finding.evidence
        assert found.finding.remedy
        return found.finding

    def passed(self, point: Point) -> str:
        found = self.verdict(point)
        assert found.outcome is Outcome.PASSED, found.text
        return found.text

    def unknown(self, point: Point) -> str:
        found = self.verdict(point)
        assert found.outcome is Outcome.UNKNOWN, found.text
        return found.text

    def not_applicable(self, point: Point) -> str:
        found = self.verdict(point)
        assert found.outcome is Outcome.NOT_APPLICABLE, found.text
        return found.text


def doctor(database: Database, toml: str = FIELD, *, role: str | None = None) -> Doctor:
    """Bind the table and make ready to examine it, with what the points take from the ordinary look."""
    bound = bind_toml(database, toml, role=role, limits=PATIENT, read_only=True)
    support = index_support.read(bound.connection, bound.table)
    leased = bound.table.has_lease and "running" in bound.table.states
    look = Look(
        bound.table,
        leases=leases.read(bound.connection, bound.table) if leased else None,
        depths=queue_depths.read(bound.connection, bound.table, support),
        support=support,
        health=table_health.read(bound.connection, bound.table),
    )
    return Doctor(Examination(bound.connection, bound.table, bound.config, look))


def remedies(finding: Finding) -> Iterator[str]:
    """The statements of a remedy, without its remarks."""
    lines = [line for line in finding.remedy.splitlines() if not line.startswith("--")]
    yield from (line for line in lines if line.strip())


def counted(database: Database, statement: str, seen: str) -> None:
    """Run a statement and wait until the statistics tell of it: until the query `seen` gives true."""
    connection = database.connect()
    connection.execute(statement.encode())
    connection.close()  # a session that ends reports what it did
    wait_until(lambda: database.value(seen), 20, "the statistics tell")
