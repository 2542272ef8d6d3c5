"""What to write into the configuration, and into the table, where the mapping lacks something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops.checks.pasted_sql import plain
from pgq_ops.config.writing import toml_key, toml_text
from pgq_ops.job_table.quoting import identifier

if TYPE_CHECKING:
    from pgq_ops.job_table.table import JobTable

_ADD = composing.SQL("ALTER TABLE {} ADD COLUMN {} {};")


def column_section(table: JobTable, section: str) -> str:
    """The head of a section of the job table."""
    return f"[job_tables.{toml_key(table.name)}.{section}]"


def with_new_column(table: JobTable, field: str, name: str, definition: str) -> str:
    """How the field is mapped, and before that how the table gets such a column if it has none.

    A column without a default, or with a constant one, is added without rewriting the table.
    """
    add = plain(_ADD.format(table.relation.sql, identifier(name), composing.SQL(definition)))
    return (
        f"-- where the table has no such column, add one, and have the workers write it:\n{add}\n"
        f"# then, or if it has one by another name, in pgq-ops.toml:\n"
        f"{column_section(table, 'columns')}\n{field} = {toml_text(name)}"
    )
