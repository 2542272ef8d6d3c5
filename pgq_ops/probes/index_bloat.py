"""Whether the claim's indexes are far larger than what they hold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pgq_ops.stats import index_bloat
from pgq_ops.stats.index_peaks import LEAST_RATIO, IndexPeaks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.metrics import Family, Sample
    from pgq_ops.probes.memory import Memory
    from pgq_ops.stats.index_peaks import IndexBloat as Bloat
    from pgq_ops.stats.table_health import TableHealth

# Each may read a whole index.
_MOST_MEASURED = 3


class IndexBloat:
    """The probe. It exports nothing; a check judges what it leaves in the memory."""

    name = "index_bloat"
    families: tuple[Family, ...] = ()
    every_seconds = 3_600.0

    def collect(self, connection: Connection, table: JobTable, memory: Memory) -> Iterable[Sample]:
        """Look at the large ones; leaves those that are bloated in the memory."""
        names = index_bloat.claim_indexes(memory.claim, memory.support)
        memory.index_bloat = None
        if names and memory.health is not None:
            memory.index_bloat = tuple(self._bloated(connection, table, memory, names, memory.health))
        return []

    def _bloated(
        self, connection: Connection, table: JobTable, memory: Memory, names: tuple[str, ...], health: TableHealth
    ) -> Iterator[Bloat]:
        peaks: IndexPeaks = memory.kept.setdefault(self.name, IndexPeaks())
        sizes = index_bloat.read(connection, table, names)
        for number, (size, bloat) in enumerate(peaks.bloated(sizes, health, memory.now())):
            needed = index_bloat.measured_bytes(connection, size) if number < _MOST_MEASURED else None
            if needed is None:
                yield bloat
            elif size.bytes >= LEAST_RATIO * needed:
                yield replace(bloat, needed_bytes=max(needed, bloat.needed_bytes), measured=True)
