"""Where the workers' own claims can be read: pg_stat_statements, or why not and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

# From these versions of the extension on execution and planning have times of their own, and entries their beginning.
_TWO_TIMES, _BEGINNING = (1, 8), (1, 11)
_LOAD = "shared_preload_libraries = 'pg_stat_statements' and a restart of the server"


@dataclass(frozen=True, slots=True)
class ClaimSource:
    """How to read it. `why_not`: why it cannot be read at all, with what to do; empty if it can.

    `sees_all`: the role sees what other roles run; `tracks`: the setting pg_stat_statements.track; `bare_name`: the
    table's name without its schema means this table.
    """

    why_not: str
    schema: str = ""
    version: str = ""
    role: str = ""
    sees_all: bool = False
    tracks: str = ""
    bare_name: bool = True

    def parts(self) -> dict[str, composing.Composable]:
        """The fragments of a statement that reads it."""
        split = tuple(int(part) for part in self.version.split("."))
        return {
            "statements": identifier(self.schema, "pg_stat_statements"),
            "milliseconds": composing.SQL("total_exec_time" if split >= _TWO_TIMES else "total_time"),
            "since": composing.SQL(
                "extract(epoch FROM pg_catalog.min(s.stats_since))::float8" if split >= _BEGINNING else "0::float8"
            ),
        }

    def grant(self, privilege: str) -> str:
        """The statement that gives this role a privilege, or another role's."""
        return f"GRANT {privilege} TO {pasted(identifier(self.role))};"

    def grant_to_execute(self) -> str:
        """The statement that lets this role call the extension's function."""
        function = pasted(self.parts()["statements"])
        return self.grant(f"EXECUTE ON FUNCTION {function}(boolean)")


def read(connection: Connection, table: JobTable) -> ClaimSource:
    """Look into the catalog. Raises the driver's errors."""
    parameters = {"oid": table.relation.oid}
    row = connection.execute(sql.statement("stats/claim_source"), parameters).fetchall()[0]
    schema, version, loaded, tracks, usable, sees_all, role, bare_name = row
    source = ClaimSource("", schema or "", version or "", role, sees_all, tracks or "", bare_name)
    if schema is None:
        before = "" if loaded else f"{_LOAD}, then "
        return ClaimSource(f"pg_stat_statements is not there: it takes {before}CREATE EXTENSION pg_stat_statements;")
    if not loaded:
        return ClaimSource(f"pg_stat_statements is not loaded: it takes {_LOAD}")
    if not usable:
        name = pasted(identifier(schema))
        needed = source.grant(f"USAGE ON SCHEMA {name}")
        return ClaimSource(f"role {role} may not read pg_stat_statements: {needed}")
    return source
