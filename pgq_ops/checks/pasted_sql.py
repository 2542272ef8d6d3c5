"""SQL as text to paste into psql, made of the fragments that the statements are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier, literal, plain_name

if TYPE_CHECKING:
    from pgq_ops.job_table.table import JobTable, Relation


def plain(fragment: composing.Composable) -> str:
    """The text as psql takes it, on one line."""
    return pasted(fragment)


def as_regclass(relation: Relation) -> str:
    """The table's oid, by its name in a text."""
    return f"{plain(literal(plain_name(relation.schema, relation.name)))}::regclass"


def predicate(table: JobTable, state: str) -> str:
    """A state's condition without the alias `j`, as an index has to have it."""
    mapped = table.fields.get("state")
    if mapped is not None and mapped.name is not None:
        mapped = replace(mapped, value=identifier(mapped.name))
    return plain(table.states[state].predicate(mapped))


def rows_where(
    table: JobTable,
    condition: composing.Composable,
    *fields: str | composing.Composable,
    order: composing.Composable | None = None,
) -> str:
    """A query for the jobs of a condition, at most 100: their id, the fields that are mapped, other expressions."""
    shown = [
        table.fields[field].value if isinstance(field, str) else field
        for field in ("id", *fields)
        if not isinstance(field, str) or field in table.fields
    ]
    query = composing.SQL("SELECT {} FROM {} AS j WHERE {} {}LIMIT 100;")
    by = composing.SQL("") if order is None else composing.SQL("ORDER BY {} ").format(order)
    columns = composing.SQL(", ").join(shown or [table.key_text()])
    return plain(query.format(columns, table.relation.sql, condition, by))
