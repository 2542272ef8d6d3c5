"""The statistics of partitioned tables, which autovacuum never collects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.job_table.table import Relation
from pgq_ops.tasks.upkeep.need import Need, Why
from pgq_ops.tasks.upkeep.order import ANALYZE_ONLY_SINCE, Order
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.table_health import TableHealth

DAILY_SECONDS = 86_400.0
# Sooner where so large a share of the rows was written since, as autovacuum has it for a plain table; only from
# PostgreSQL 18 on: before that all leaves are read for it too.
CHANGED_SHARE, HOURLY_SECONDS = 0.1, 3_600.0


@dataclass(slots=True)
class Parents:
    """Those of one job table. `_written`: what had been written to its leaves when each was last analyzed, by oid."""

    _written: dict[int, int] = field(default_factory=dict)

    def needs(self, connection: Connection, table: JobTable, health: TableHealth) -> Iterator[Need]:
        """Those that are to be analyzed now. Raises the driver's errors."""
        rows = health.live_rows or 0
        if not table.partitioned or rows == 0:
            return
        only = connection.info.server_version >= ANALYZE_ONLY_SINCE
        parameters = {"oid": table.relation.oid}
        found = connection.execute(sql.statement("vacuum/parents"), parameters).fetchall()
        for oid, schema, name, ago in found if only else found[:1]:
            order = Order(Relation(oid, schema, name), parent=True)
            changed = _written(health) - self._written.setdefault(oid, _written(health))
            if ago is None:
                yield Need(Why.STATISTICS, order, "it was never analyzed, and autovacuum does not do that")
            elif ago >= DAILY_SECONDS:
                yield Need(Why.STATISTICS, order, f"it was last analyzed {format_duration(round(ago))} ago")
            elif only and ago >= HOURLY_SECONDS and changed >= CHANGED_SHARE * rows:
                yield Need(Why.STATISTICS, order, f"{changed:,} rows were written since it was last analyzed")

    def analyzed(self, oid: int, health: TableHealth) -> None:
        """One was, just now."""
        self._written[oid] = _written(health)


def _written(health: TableHealth) -> int:
    return sum(leaf.inserted + leaf.updated + leaf.deleted for leaf in health.leaves)
