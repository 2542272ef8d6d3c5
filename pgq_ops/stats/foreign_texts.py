"""Texts of pg_stat_statements that this database cannot show: one of another encoding keeps back all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import errors
from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier, literal

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection

UNREADABLE = (errors.CharacterNotInRepertoire, errors.UntranslatableCharacter)
"""What reading the texts fails with then."""
_MOST = 10


@dataclass(frozen=True, slots=True)
class ForeignTexts:
    """Why no text can be read, and what forgets those that are in the way and keeps them from coming again."""

    why_not: str
    remedy: str

    def in_one_line(self) -> str:
        """Both, for one who has a line."""
        return f"{self.why_not}: {self.remedy}".replace("\n", " ")


def read(connection: Connection, schema: str) -> ForeignTexts:
    """Whose texts they are, as far as the databases' encodings tell. Raises the driver's errors."""
    look = sql.statement("stats/foreign_texts", {"statements": identifier(schema, "pg_stat_statements")})
    names = [str(name) for (name,) in connection.execute(look, {"limit": _MOST}).fetchall()]
    why = "pg_stat_statements has a text that this database's encoding cannot show, and shows none because of it"
    reset = identifier(schema, "pg_stat_statements_reset")
    lines = [line for name in names for line in _forget(reset, name)]
    return ForeignTexts(why, "\n".join(lines) or pasted(composing.SQL("SELECT {}();").format(reset)))


def _forget(reset: composing.SQL, name: str) -> tuple[str, str]:
    of = composing.SQL("(SELECT oid FROM pg_database WHERE datname = {})").format(literal(name))
    return (
        pasted(composing.SQL("SELECT {}(0, {}, 0);").format(reset, of)),
        pasted(composing.SQL("ALTER DATABASE {} SET pg_stat_statements.track = 'none';").format(identifier(name))),
    )
