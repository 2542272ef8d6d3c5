"""How late a row of a range-partitioned table can lie: the end of its last partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.job_table.columns import MappedColumn
from pgq_ops.job_table.quoting import literal, type_name

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

# The bound itself is exclusive; a second before it is inside any partition that people make.
_MARGIN = composing.SQL("pg_catalog.make_interval(secs => 1)")


def read(connection: Connection, table: JobTable) -> composing.Composable | None:
    """The latest moment that `available_at` may have, as a timestamptz expression; None where any will do."""
    available = table.fields.get("available_at")
    if not table.moves_rows or available is None:
        return None
    keys = connection.execute(sql.statement("catalog/partition_key"), {"oid": table.relation.oid}).fetchall()
    if not keys or keys[0][:3] != (True, "r", 1) or keys[0][3] != available.name:
        return None
    row = connection.execute(sql.statement("catalog/upper_bounds"), {"oid": table.relation.oid}).fetchone()
    bounds = [bound for bound in (row[1] if row else None) or [] if bound is not None]
    if row is None or row[0] or not bounds:
        return None
    kind = type_name(available.base_type)
    latest = composing.SQL(
        "SELECT pg_catalog.max(bound::{})::text FROM pg_catalog.unnest(%(bounds)s::text[]) AS b(bound)"
    ).format(kind)
    last = connection.execute(latest, {"bounds": bounds}).fetchone()
    if last is None or last[0] is None:
        return None
    end = composing.SQL("{}::{}").format(literal(str(last[0])), kind)
    as_column = MappedColumn(
        value=end, type_name=available.type_name, base_type=available.base_type, time=available.time
    )
    return composing.SQL("({} - {})").format(table.clock.to_timestamptz(as_column), _MARGIN)
