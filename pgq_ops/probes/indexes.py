"""Which looks are cheap: asked of the planner now and then, apart from the looks, as it may take longer than they."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.stats import index_support

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.metrics import Family, Sample
    from pgq_ops.probes.memory import Memory

# An index that was made or dropped, or a table that grew, is noticed after this long.
_EVERY_SECONDS = 60.0


class Indexes:
    """The probe. It exports nothing; the other probes go by what it leaves in the memory."""

    name = "indexes"
    families: tuple[Family, ...] = ()
    every_seconds = 0.0

    def collect(self, connection: Connection, table: JobTable, memory: Memory) -> Iterable[Sample]:
        """Ask again if it is time."""
        if memory.support is None or memory.now() >= memory.support_until:
            memory.support = index_support.read(connection, table)
            memory.support_until = memory.now() + _EVERY_SECONDS
        return []
