"""Which column of the user's table plays which part."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from pgq_ops.config.expression import Expression
from pgq_ops.config.section import Section, refusal

MAX_NAME_BYTES = 63
"""PostgreSQL cuts longer names (NAMEDATALEN - 1), so no column has one."""


class Column(Section):
    """A column by its name, or an SQL expression over the table's columns that can only be read.

    In TOML "name", `{ column = "name", unit = "ms" }` or `{ sql = "expression" }`. `unit` says what an integer
    column that holds a time counts since the epoch; without it, the type of the column decides.
    """

    shorthand: ClassVar[frozenset[type]] = frozenset({str})
    renamed: ClassVar[Mapping[str, str]] = MappingProxyType({"column": "name"})

    name: str | None = None
    sql: Expression | None = None
    unit: Literal["s", "ms", "us"] | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: object) -> object:
        if isinstance(value, str):
            return {"name": value}
        if isinstance(value, dict) and "name" not in value:
            return {cls.renamed.get(key, key): part for key, part in value.items()}
        if not isinstance(value, dict | Column):
            raise refusal('must be the name of a column in quotes, or { sql = "expression" }')
        return value

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.name is None) == (self.sql is None):
            raise refusal("needs either a column's name or `sql`, and not both")
        if not (self.name or self.sql or "").strip(" \t\r\n"):
            raise refusal("is empty", "leave the key out where the table has no such column")
        if len((self.name or "").encode()) > MAX_NAME_BYTES:
            raise refusal(f"is longer than the {MAX_NAME_BYTES} bytes that a name in PostgreSQL can have")
        return self


class Columns(Section):
    """The columns of a job table by the part they play; None where the table has no such column."""

    id: Column | None = None
    state: Column | None = None
    available_at: Column | None = None
    lease_expires_at: Column | None = None
    heartbeat_at: Column | None = None
    leased_at: Column | None = None
    owner: Column | None = None
    version: Column | None = None
    attempts: Column | None = None
    queue: Column | None = None
    kind: Column | None = None
    priority: Column | None = None
    max_attempts: Column | None = None
    created_at: Column | None = None
    finished_at: Column | None = None
    error: Column | None = None
    payload: Column | None = None

    def mapped(self) -> dict[str, Column]:
        """Return the mapped columns by part, in the order above."""
        parts = ((part, getattr(self, part)) for part in type(self).model_fields)
        return {part: column for part, column in parts if column is not None}

    @property
    def has_lease(self) -> bool:
        """Whether anything tells when a lease ends."""
        return bool(self.lease_expires_at or self.heartbeat_at or self.leased_at)
