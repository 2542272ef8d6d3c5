"""Names, values and expressions as SQL text that survives psycopg's placeholder parsing.

`psycopg.sql.Identifier` and `Literal` leave a `%` as it is, and a statement that is run with parameters
then reads it as a placeholder. Here each `%` is doubled, so a column may be called `done %`.
"""

from __future__ import annotations

from psycopg import sql


def _composable(text: str) -> sql.SQL:
    return sql.SQL(text.replace("%", "%%"))


def identifier(*parts: str) -> sql.SQL:
    """A quoted, possibly qualified name."""
    return _composable(".".join('"' + part.replace('"', '""') + '"' for part in parts))


def plain_name(*parts: str) -> str:
    """A quoted, possibly qualified name as text: as a cast to regclass reads it, and the configuration."""
    return identifier(*parts).as_string(None).replace("%%", "%")


def literal(value: str | float | bool) -> sql.SQL:  # noqa: FBT001  # a value, not a switch
    """A constant: text in quotes (standard_conforming_strings is pinned), numbers and booleans bare."""
    if isinstance(value, bool):
        return _composable("true" if value else "false")
    if isinstance(value, int | float):
        return _composable(repr(value))
    return _composable("'" + value.replace("'", "''") + "'")


def expression(text: str) -> sql.SQL:
    """A user's SQL expression in parentheses; the line break ends a `--` comment inside it."""
    return _composable(f"({text}\n)")


def type_name(formatted: str) -> sql.SQL:
    """A type as `format_type()` prints it, which is already quoted and qualified."""
    return _composable(formatted)


def all_of(conditions: list[sql.Composable]) -> sql.Composable:
    """The conditions joined by AND; `true` for none."""
    return sql.SQL(" AND ").join(conditions) if conditions else sql.SQL("true")


def any_of(conditions: list[sql.Composable]) -> sql.Composable:
    """The conditions joined by OR, in parentheses; `false` for none."""
    return sql.SQL("({})").format(sql.SQL(" OR ").join(conditions)) if conditions else sql.SQL("false")
