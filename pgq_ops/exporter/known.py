"""What is remembered between collections."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.db.connection import row_security
from pgq_ops.stats.observing import Observing
from pgq_ops.stats.vacuum_keepers import VacuumKeepers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.exporter.runs import ProbeFailure, Runs
    from pgq_ops.job_table.table import JobTable
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

    def run_due(self, connection: Connection, probes: Sequence[Probe]) -> list[ProbeFailure]:
        """Run the probes that are due. Raises the driver's errors where the session is lost before or after them."""
        # Around all of them: what they are expected to ask is asked before any of them runs.
        with row_security(connection, allowed=self.table.all_visible_policies):
            return self.runs.run_due(
                connection, probes, lambda probe: probe.collect(connection, self.table, self.memory)
            )


@dataclass(slots=True)
class Shared:
    """Of the whole database."""

    memory: DatabaseMemory
    runs: Runs
