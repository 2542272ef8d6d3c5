"""What the catalog says of relations and their columns, as frozen rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg.rows import class_row

from pgq_ops import sql
from pgq_ops.job_table.table import KeyColumn

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection


@dataclass(frozen=True, slots=True)
class CatalogRelation:
    """A relation of `pg_class`; `kind` and `persistence` are its letters (r, p, v, m, f and p, u, t)."""

    oid: int
    schema: str
    name: str
    kind: str
    persistence: str
    is_partition: bool
    owner: str
    schema_usable: bool
    row_security: bool
    row_security_active: bool
    on_search_path: bool


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """A column; `base_type` has no modifier and no domain, `labels` are an enum's, `length` a varchar's limit."""

    name: str
    type_name: str
    base_type: str
    length: int | None
    not_null: bool
    generated: bool
    identity: str
    has_default: bool
    type_kind: str
    labels: list[str] | None
    readable: bool
    updatable: bool
    insertable: bool


@dataclass(frozen=True, slots=True)
class Server:
    """The server and this session's standing on it."""

    version_number: int
    version: str
    database: str
    role: str
    in_recovery: bool
    uptime_seconds: float
    deadlock_timeout_seconds: float


def server(connection: Connection) -> Server:
    """Read the server's version, state and this session's role."""
    with connection.cursor(row_factory=class_row(Server)) as cursor:
        row = cursor.execute(sql.statement("catalog/server"), {}).fetchone()
    assert row is not None  # noqa: S101  # a SELECT without FROM has one row
    return row


def relations(connection: Connection, schema: str | None, name: str) -> list[CatalogRelation]:
    """The relations of that name, those on the search path first."""
    with connection.cursor(row_factory=class_row(CatalogRelation)) as cursor:
        cursor.execute(sql.statement("catalog/relations"), {"schema": schema, "name": name})
        return cursor.fetchall()


def columns(connection: Connection, oid: int) -> dict[str, CatalogColumn]:
    """The columns of a relation by name, in the table's order."""
    with connection.cursor(row_factory=class_row(CatalogColumn)) as cursor:
        cursor.execute(sql.statement("catalog/columns"), {"oid": oid})
        return {row.name: row for row in cursor.fetchall()}


def primary_key(connection: Connection, oid: int) -> tuple[KeyColumn, ...]:
    """The columns that address a row of a relation; empty without a primary key."""
    rows = connection.execute(sql.statement("catalog/primary_key"), {"oid": oid}).fetchall()
    return tuple(KeyColumn(str(column), str(type_name)) for column, type_name in rows)
