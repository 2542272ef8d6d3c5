"""What others' statements do to the job table, as far as pg_stat_statements has their texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier
from pgq_ops.stats import foreign_texts, statement_text

if TYPE_CHECKING:
    from psycopg import sql as composing

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

# A job table has a dozen of them; an ORM that makes lists of values may have hundreds.
_MOST = 500

_GET = {
    "library": (
        "-- with what is in it already, and then restart the server:\n"
        "ALTER SYSTEM SET shared_preload_libraries = pg_stat_statements;"
    ),
    "extension": "CREATE EXTENSION pg_stat_statements;",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement without constants. `rows`: that all its calls returned or changed. `toplevel`: sent as it is."""

    text: str
    calls: int
    rows: int
    toplevel: bool
    role: str


@dataclass(frozen=True, slots=True)
class TableStatements:
    """The statements that take or change rows of the job table, the most called first.

    `seconds`: for how long they have been counted. `nested`: whether those inside functions are counted too. `why_not`
    says why nothing is known, and `remedy` what makes it known; empty where it is.
    """

    statements: tuple[Statement, ...] = ()
    seconds: float = 0.0
    nested: bool = False
    why_not: str = ""
    remedy: str = ""


def is_own() -> composing.Composed:
    """The condition on `s`, a row of pg_stat_statements, that the statement is one of pgq-ops."""
    return sql.statement("stats/is_own_statement")


def read(connection: Connection, table: JobTable) -> TableStatements:
    """All of them. Raises the driver's errors."""
    [found] = connection.execute(sql.statement("stats/statements_extension"), {}).fetchall()
    track, schema, usable, sees_all = found
    missing = [] if track is not None else ["library"]
    missing += [] if schema is not None else ["extension"]
    if missing:
        why = f"the {' and the '.join(missing)} pg_stat_statements {'are' if len(missing) > 1 else 'is'} not here"
        return TableStatements(why_not=why, remedy="\n".join(_GET[one] for one in missing))
    role = pasted(identifier(connection.info.user))
    if not usable:
        grant = f"GRANT USAGE ON SCHEMA {pasted(identifier(schema))} TO {role};"
        return TableStatements(why_not="this role may not use the schema of pg_stat_statements", remedy=grant)
    if not sees_all:
        why = "this role does not see the texts of other roles' statements"
        return TableStatements(why_not=why, remedy=f"GRANT pg_read_all_stats TO {role};")
    fragments = {"view": identifier(schema, "pg_stat_statements"), "is_own_statement": is_own()}
    parameters = {"name": table.relation.name, "limit": _MOST}
    try:
        rows = connection.execute(sql.statement("stats/table_statements", fragments), parameters).fetchall()
    except foreign_texts.UNREADABLE:
        unreadable = foreign_texts.read(connection, schema)
        return TableStatements(why_not=unreadable.why_not, remedy=unreadable.remedy)
    since = sql.statement("stats/statements_since", {"info": identifier(schema, "pg_stat_statements_info")})
    seconds = connection.execute(since, {}).fetchall()[0][0]
    statements = tuple(Statement(*row) for row in rows if statement_text.is_done(row[0]))
    return TableStatements(statements, seconds or 0.0, nested=track == "all")
