"""The indexes that each heartbeat has to write to, as they hold or read the column that it changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class HeartbeatIndex:
    """An index, and the column of a heartbeat that it knows; a `partitioned` one stands for those of the leaves."""

    schema: str
    name: str
    column: str
    partitioned: bool = False


def heartbeat_columns(table: JobTable) -> tuple[str, ...]:
    """The columns that a heartbeat writes; none where leases are not extended, or by an expression alone."""
    fields = (table.fields.get(name) for name in ("lease_expires_at", "heartbeat_at"))
    return tuple(field.name for field in fields if field is not None and field.name is not None)


def read(connection: Connection, table: JobTable) -> tuple[HeartbeatIndex, ...]:
    """All of them, of every leaf; reads the catalog alone. Raises the driver's errors."""
    parameters = {"oid": table.relation.oid, "columns": list(heartbeat_columns(table))}
    rows = connection.execute(sql.statement("stats/indexes_on_columns"), parameters).fetchall()
    return tuple(HeartbeatIndex(*row) for row in rows)
