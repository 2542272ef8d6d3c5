"""Which unit an epoch column counts in: as its rows tell, else its name.

Only values that are a time of our days in one unit tell anything. Others stand for "never" (2^63 - 1, the year 9999)
or for nothing (0), and would be taken for times in a finer unit: every lease would then look expired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops import sql

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.columns import MappedColumn
    from pgq_ops.job_table.table import Relation

_NAME_UNITS = (
    ("_ms", "ms"),
    ("_millis", "ms"),
    ("_us", "us"),
    ("_micros", "us"),
    ("_s", "s"),
    ("_sec", "s"),
    ("_seconds", "s"),
)


def units_in_rows(connection: Connection, relation: Relation, epoch: MappedColumn) -> frozenset[str]:
    """The units in which any of the first rows holds a time between 2001 and 2096; raises the driver's errors."""
    fragments = {"epoch": epoch.value, "table": relation.sql}
    row = connection.execute(sql.statement("catalog/epoch_units", fragments), {}).fetchone()
    return frozenset(unit for unit, seen in zip(("s", "ms", "us"), row or (), strict=False) if seen)


def unit_in_name(name: str | None) -> str | None:
    """The unit that a column's name ends in."""
    return next((unit for ending, unit in _NAME_UNITS if (name or "").lower().endswith(ending)), None)
