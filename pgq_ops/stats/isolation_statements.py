"""Which isolation level others' statements ask for, as far as pg_stat_statements has their texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.job_table.quoting import identifier

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

_STRICT = re.compile(r"\b(repeatable\s+read|serializable)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LevelStatement:
    """One statement that sets the level; `strict` is False where its text does not tell which."""

    text: str
    calls: int
    role: str

    @property
    def strict(self) -> bool:
        """Whether the level is above Read Committed, by the text."""
        return _STRICT.search(self.text) is not None


@dataclass(frozen=True, slots=True)
class LevelStatements:
    """Those that set one above Read Committed, or one that is not known, the most called first.

    `counted`: whether statements of that kind are counted at all.
    """

    statements: tuple[LevelStatement, ...]
    counted: bool


def read(connection: Connection, _table: JobTable) -> LevelStatements:
    """All of this database, where pg_stat_statements is there and can be read. Raises the driver's errors."""
    [(_, schema, *_)] = connection.execute(sql.statement("stats/statements_extension"), {}).fetchall()
    fragments = {"view": identifier(schema, "pg_stat_statements")}
    rows = connection.execute(sql.statement("stats/isolation_statements", fragments), {}).fetchall()
    statements = tuple(LevelStatement(text, calls, role) for _, text, calls, role in rows if text is not None)
    return LevelStatements(statements, counted=all(counted for counted, *_ in rows))
