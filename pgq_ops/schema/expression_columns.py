"""Which columns of a table the user's SQL expressions read, as the server itself sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import errors
from psycopg.sql import SQL

from pgq_ops import sql
from pgq_ops.job_table.quoting import expression, identifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from psycopg.sql import Composable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable, Relation

# An expression can name these too.
SYSTEM_COLUMNS = ("tableoid", "ctid", "xmin", "xmax", "cmin", "cmax")


def columns_read(
    connection: Connection, relation: Relation, columns: Sequence[str], expressions: Sequence[Composable]
) -> frozenset[str]:
    """Those of `columns` (all that the table has) and of the system's that the expressions read.

    Each column is left out in turn, and the server is asked to plan the expressions over the others: where
    it cannot, the column is read. An expression that takes the row as a whole reads all of them.
    Raises psycopg.Error where the expressions mean nothing even with all columns.
    """
    if not expressions:
        return frozenset()

    def is_meaningful(names: Iterable[str], alias: str = "j") -> bool:
        fragments = {
            "expressions": SQL(", ").join(expressions),
            "columns": SQL(", ").join(SQL("j.{}").format(identifier(name)) for name in names),
            "table": relation.sql,
            "alias": identifier(alias),
        }
        try:
            connection.execute(sql.statement("catalog/plan_expressions", fragments), {})
        except errors.UndefinedColumn:
            return False
        return True

    everything = (*columns, *SYSTEM_COLUMNS)
    if not is_meaningful(everything, alias="pgq_ops_other"):
        return frozenset(columns)
    return frozenset(column for column in everything if not is_meaningful(set(everything) - {column}))


def mapped_expressions(table: JobTable, *, payload: bool) -> list[Composable]:
    """The expressions that reading uses: those mapped in place of a column, and the states' predicates.

    One that is mapped as the payload is among them only where `payload` is asked for.
    """
    wanted = [field for name, field in table.fields.items() if payload or name != "payload"]
    fields = [field.value for field in wanted if field.name is None]
    return [*fields, *(expression(rule.where) for rule in table.states.values() if rule.where is not None)]


def written_expressions(table: JobTable) -> list[Composable]:
    """The expressions that reaping writes: of the states that are brought about by `set`."""
    return [value for rule in table.states.values() if rule.where is not None for value in rule.writes.values()]
