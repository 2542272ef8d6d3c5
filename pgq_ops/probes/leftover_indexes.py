"""Indexes that an interrupted CREATE or REINDEX CONCURRENTLY left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.stats import leftover_indexes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.metrics import Family, Sample
    from pgq_ops.probes.memory import Memory


class LeftoverIndexes:
    """The probe. It exports nothing; a check judges what it leaves in the memory."""

    name = "leftover_indexes"
    families: tuple[Family, ...] = ()
    every_seconds = 600.0

    def collect(self, connection: Connection, table: JobTable, memory: Memory) -> Iterable[Sample]:
        """Look at the catalog; waits for no lock."""
        memory.leftover_indexes = leftover_indexes.read(connection, table)
        return []
