"""Whether the claim's indexes are far larger than what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.stats import index_bloat, index_sizes
from pgq_ops.stats.index_peaks import IndexPeaks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.metrics import Family, Sample
    from pgq_ops.probes.memory import Memory


class IndexBloat:
    """The probe. It exports nothing; a check judges what it leaves in the memory."""

    name = "index_bloat"
    families: tuple[Family, ...] = ()
    every_seconds = 3_600.0

    def collect(self, connection: Connection, table: JobTable, memory: Memory) -> Iterable[Sample]:
        """Look at the large ones; leaves those that are bloated in the memory."""
        peaks: IndexPeaks = memory.kept.setdefault(self.name, IndexPeaks())
        names = index_sizes.claim_indexes(memory.claim, memory.support)
        memory.index_bloat = None
        if names and memory.health is not None:
            sizes = index_sizes.read(connection, table, names)
            bloated = peaks.bloated(sizes, memory.health, memory.now())
            memory.index_bloat = tuple(index_bloat.confirmed(connection, bloated))
        return []
