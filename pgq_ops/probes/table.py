"""How vacuum stands with the job table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.metrics import Family
from pgq_ops.probes.counters import Accumulated
from pgq_ops.stats import table_health
from pgq_ops.stats.vacuum_watch import VacuumWatch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.metrics import Sample
    from pgq_ops.probes.memory import Memory
    from pgq_ops.stats.table_health import LeafHealth, TableHealth

_TABLE = ("database", "job_table")
_SUMMED = "all partitions together, counted since the agent first looked."


def _counter(name: str, help_text: str) -> Family:
    return Family(name, f"{help_text}; {_SUMMED}", _TABLE, type="counter")


COUNTERS = (
    _counter("inserted_rows_total", "Rows inserted"),
    _counter("updated_rows_total", "Rows updated"),
    _counter("deleted_rows_total", "Rows deleted"),
    _counter("hot_updated_rows_total", "Rows updated without touching an index"),
)
LIVE = Family("live_tuples", "Live rows, as the statistics have them; absent where those were lost.", _TABLE)
DEAD = Family("dead_tuples", "Dead rows, as the statistics have them; absent where those were lost.", _TABLE)
THRESHOLD = Family(
    "vacuum_threshold_tuples", "Dead rows beyond which autovacuum comes, summed over the partitions.", _TABLE
)
DUE = Family(
    "vacuum_due_ratio",
    "Dead rows as a share of the threshold, in the partition where it is highest; above 1 autovacuum is due.",
    _TABLE,
)
TABLE_BYTES = Family("table_bytes", "Size without indexes, TOAST included, as of the last vacuum or analyze.", _TABLE)
INDEX_BYTES = Family(
    "index_bytes", "Size of all indexes, as of the last analyze, or vacuum that removed something.", _TABLE
)
LAST_VACUUM = Family(
    "last_vacuum_timestamp_seconds",
    "When the last vacuum or autovacuum of any partition ended; absent before the first.",
    _TABLE,
)
RUNNING = Family("vacuum_running", "Partitions that are vacuumed now.", _TABLE)
XID_AGE = Family("relfrozenxid_age_xids", "Age of relfrozenxid of the oldest partition, in transactions.", _TABLE)


@dataclass(slots=True)
class _Kept:
    watch: VacuumWatch = field(default_factory=VacuumWatch)
    rows: Accumulated = field(default_factory=lambda: Accumulated([0] * len(COUNTERS)))


class Table:
    """The probe. It waits for no lock on the table."""

    name = "table"
    every_seconds = 15.0
    families = (*COUNTERS, LIVE, DEAD, THRESHOLD, DUE, TABLE_BYTES, INDEX_BYTES, LAST_VACUUM, RUNNING, XID_AGE)

    def collect(self, connection: Connection, table: JobTable, memory: Memory) -> Iterable[Sample]:
        """Look at the catalog and the statistics; leaves the rows in the memory."""
        kept: _Kept = memory.kept.setdefault(self.name, _Kept())
        memory.health = health = kept.watch.watched(table_health.read(connection, table), memory.now())
        values: dict[Family, float | None] = {
            LIVE: health.live_rows,
            DEAD: health.dead_rows,
            THRESHOLD: round(health.vacuum_threshold),
            DUE: health.due_ratio,
            TABLE_BYTES: health.table_bytes,
            INDEX_BYTES: health.index_bytes,
            LAST_VACUUM: health.last_vacuumed,
            RUNNING: health.vacuums_running,
            XID_AGE: health.xid_age,
        }
        if health.server.counting and not health.server.standby:
            values |= zip(COUNTERS, kept.rows.add(_counts(health)), strict=True)
        labels = (memory.database, table.name)
        return [family.sample(value, *labels) for family, value in values.items() if value is not None]


def _counts(health: TableHealth) -> dict[int, tuple[int, int, int, int]]:
    def of(leaf: LeafHealth) -> tuple[int, int, int, int]:
        return leaf.inserted, leaf.updated, leaf.deleted, leaf.hot_updated

    return {leaf.oid: of(leaf) for leaf in health.leaves}
