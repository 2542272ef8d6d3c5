"""The triggers that fire for each job that is enqueued, claimed, extended, finished or deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class RowTrigger:
    """A row trigger on `table` (schema, name). `conditional`: it has a WHEN. `columns`: of UPDATE OF, empty for any.

    `notifies` and `discards` are guesses from the function's text: it sends NOTIFY; it may return NULL before the
    change, which discards it.
    """

    name: str
    table: tuple[str, str]
    function: str
    before: bool
    on_insert: bool
    on_update: bool
    conditional: bool
    columns: list[str]
    notifies: bool
    discards: bool


def read(connection: Connection, table: JobTable) -> tuple[RowTrigger, ...]:
    """Those of the job table and its partitions; reads the catalog alone. Raises the driver's errors."""
    rows = connection.execute(sql.statement("stats/row_triggers"), {"oid": table.relation.oid}).fetchall()
    return tuple(RowTrigger(name, (schema, relation), *rest) for name, schema, relation, *rest in rows)
