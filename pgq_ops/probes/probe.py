"""The contracts of a probe. It has no timer and catches nothing: whoever runs it measures and supervises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.metrics import Family, Sample
    from pgq_ops.probes.database_memory import DatabaseMemory
    from pgq_ops.probes.memory import Memory


class AnyProbe(Protocol):
    """What every probe says of itself."""

    @property
    def name(self) -> str:
        """The probe's name in `pgqops_probe_success` and `pgqops_collection_duration_seconds`."""
        ...

    @property
    def families(self) -> tuple[Family, ...]:
        """Every family that it may give samples of, so that HELP and TYPE appear without any."""
        ...

    @property
    def every_seconds(self) -> float:
        """How long what it reads stays good enough; 0: it looks at each collection."""
        ...


class Probe(AnyProbe, Protocol):
    """One look at a job table, turned into metrics."""

    def collect(self, connection: Connection, table: JobTable, memory: Memory) -> Iterable[Sample]:
        """Look once. What could not be known has no sample; raises the driver's errors."""
        ...


class DatabaseProbe(AnyProbe, Protocol):
    """One look at what all job tables of the database share, turned into metrics."""

    def collect(self, connection: Connection, memory: DatabaseMemory) -> Iterable[Sample]:
        """Look once. What could not be known has no sample; raises the driver's errors."""
        ...
