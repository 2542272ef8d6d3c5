"""The statements: one a `.sql` file, read from the package, with named places for SQL fragments.

A file starts with a head of `--` lines: what the statement does and its parameters with their units.
Values are `%(name)s`; `{name}` is a place for a fragment (`psycopg.sql` objects only); a literal `%` or
brace is written twice. Every statement is run with a parameter mapping, be it empty: psycopg turns
`%%` back into `%` only then.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from psycopg import sql

if TYPE_CHECKING:
    from collections.abc import Mapping


@cache
def text(name: str, package: str = __name__) -> str:
    """The statement in `<name>.sql` of the package (folders are written with `/`), without its head."""
    source = files(package).joinpath(f"{name}.sql").read_text(encoding="utf-8")
    lines = source.splitlines()
    while lines and (not lines[0].strip() or lines[0].startswith("--")):
        lines.pop(0)
    return "\n".join(lines).strip().removesuffix(";")


def statement(
    name: str, fragments: Mapping[str, sql.Composable] | None = None, *, package: str = __name__
) -> sql.Composed:
    """The statement in `<name>.sql` with its places filled; raises KeyError for a place without a fragment."""
    return sql.SQL(text(name, package)).format(**(fragments or {}))
