"""What is remembered between collections."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.db.connection import row_security
from pgq_ops.stats.observing import Observing
from pgq_ops.stats.vacuum_keepers import VacuumKeepers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.db.connection import Connection
    from pgq_ops.exporter.runs import Runs
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.metrics import Sample
    from pgq_ops.probes.database_memory import DatabaseMemory
    from pgq_ops.probes.memory import Memory
    from pgq_ops.probes.probe import Probe


@dataclass(slots=True)
class Known:
    """Of a job table. `looked_at`: epoch seconds, database clock, of the last look at its jobs that succeeded."""

    table: JobTable
    memory: Memory
    runs: Runs
    looked_at: float | None = None
    keepers: VacuumKeepers = field(default_factory=VacuumKeepers)
    observing: Observing = field(default_factory=Observing)

    def collected(self, probe: Probe, connection: Connection) -> Iterable[Sample]:
        """Run one probe."""
        with row_security(connection, allowed=self.table.all_visible_policies):
            return probe.collect(connection, self.table, self.memory)


@dataclass(slots=True)
class Shared:
    """Of the whole database."""

    memory: DatabaseMemory
    runs: Runs
