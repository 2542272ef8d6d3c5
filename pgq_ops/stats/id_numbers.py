"""How far the numbers of the jobs have come, in a column and a sequence that end somewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.job_table.columns import INTEGER_TYPES

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class IdNumbers:
    """A column of numbers. `highest`: given so far, None where it cannot be read cheaply or was not permitted.

    `limit`: of the column's type, or of its `sequence` (schema, name) where that ends earlier; `column_limit` is the
    type's alone. `cycles`: the sequence begins anew at its end.
    """

    column: str
    type_name: str
    sequence: tuple[str, str] | None
    highest: int | None
    limit: int
    column_limit: int
    cycles: bool


def read(connection: Connection, table: JobTable) -> IdNumbers | None:
    """The mapped `id`; None where it is no whole number, or no column. Raises the driver's errors."""
    mapped = table.fields.get("id")
    if mapped is None or mapped.name is None:
        return None
    parameters = {"oid": table.relation.oid, "column": mapped.name}
    rows = connection.execute(sql.statement("stats/id_numbers"), parameters).fetchall()
    if not rows or rows[0][0] not in INTEGER_TYPES:
        return None
    type_name, schema, name, largest, cycles, last, readable, indexed = rows[0]
    if not readable and indexed:
        query = sql.statement("stats/highest_id", {"id": mapped.value, "table": table.relation.sql})
        last = connection.execute(query, {}).fetchall()[0][0]
        readable = True
    column_limit = INTEGER_TYPES[type_name]
    return IdNumbers(
        mapped.name,
        type_name,
        None if name is None else (schema, name),
        (last or 0) if readable else None,
        min(column_limit, largest or column_limit),
        column_limit,
        bool(cycles),
    )
