"""The demo's own statements, in `sql/` beside this file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops import sql

if TYPE_CHECKING:
    from psycopg.sql import Composed


def statement(name: str) -> Composed:
    """The statement in `sql/<name>.sql`."""
    return sql.statement(f"sql/{name}", package="pgq_ops.demo")
