"""The foreign keys from the job table to others, and those of others to the job table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

_ACTIONS = {"a": "NO ACTION", "r": "RESTRICT", "c": "CASCADE", "n": "SET NULL", "d": "SET DEFAULT"}


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A constraint of `referring` (schema, name) to `referenced`. `incoming`: that is the job table, or a part of it.

    `indexed`: an index leads to the rows that refer to a given one. `rows` of the referring table, as of the last
    vacuum or analyze. `on_delete` as in SQL.
    """

    name: str
    incoming: bool
    referring: tuple[str, str]
    referenced: tuple[str, str]
    columns: tuple[str, ...]
    on_delete: str
    indexed: bool
    rows: int


def read(connection: Connection, table: JobTable) -> tuple[ForeignKey, ...]:
    """All of them, incoming ones first; reads the catalog alone. Raises the driver's errors."""
    rows = connection.execute(sql.statement("stats/foreign_keys"), {"oid": table.relation.oid}).fetchall()
    return tuple(
        ForeignKey(
            name, incoming, (schema, referring), (to_schema, to), tuple(columns), _ACTIONS[action], indexed, number
        )
        for name, incoming, schema, referring, to_schema, to, columns, action, indexed, number in rows
    )
