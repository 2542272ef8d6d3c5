"""Runs the probes and the checks over the job tables, each in its time, and keeps what they say in the store.

    collector = Collector(session, Store())
    collected = collector.collect(table, reaping=True, news=ReapNews())   # raises nothing a database can cause
    collected.findings, collected.failures, collected.reached

The supervisor measures duration and success here, in one place, and keeps each probe to 1 % of the time:
one that took t is not run again before 100 t. One that failed on a lock or a connection is tried again at
the next call. Use one thread, and one Collector for a session.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops.checks.look import Look, ReapNews

if TYPE_CHECKING:
    from pgq_ops.checks.finding import Finding
    from pgq_ops.db import Session
    from pgq_ops.exporter.store import Store
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class ProbeFailure:
    """A probe that failed: to be logged once by the caller. `lost`: the connection was to blame."""

    probe: str
    error: Exception
    lost: bool


@dataclass(frozen=True, slots=True)
class Collected:
    """One collection of one job table."""

    look: Look
    findings: tuple[Finding, ...]
    failures: tuple[ProbeFailure, ...]
    reached: bool


@dataclass(slots=True)
class Collector:
    """Collects over one session."""

    session: Session
    store: Store

    def collect(self, table: JobTable, *, reaping: bool | None = None, news: ReapNews | None = None) -> Collected:
        """Run what is due for the table."""
        raise NotImplementedError

    def unreachable(self, job_table: str) -> None:
        """Say that a job table could not be looked at at all: `pgqops_up` 0, the rest absent."""
        raise NotImplementedError

    def forget(self, job_table: str) -> None:
        """Export nothing more of a job table: another agent leads it, or it is configured no longer."""
        raise NotImplementedError
