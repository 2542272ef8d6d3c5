"""One VACUUM or ANALYZE that is to be run, as a statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops import sql

if TYPE_CHECKING:
    from pgq_ops.job_table.table import Relation

# It writes pg_database's row, under a lock that all vacuums of the database share, and reads all of pg_class for that.
_SKIP_DATABASE_STATS_SINCE = 160_000
# Before that the leaves are analyzed too.
ANALYZE_ONLY_SINCE = 180_000


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be run. `parent`: the relation is a partitioned table, which is analyzed and not vacuumed."""

    relation: Relation
    analyze: bool = False
    freeze: bool = False
    parent: bool = False
    toast: bool = False

    def statement(self, server_version: int) -> composing.Composed:
        """The statement, which waits for no lock on the table, and never takes one that claims would wait for.

        No parallel workers: they would not rest, and each takes a place of the server's.
        """
        if self.parent:
            only = composing.SQL("ONLY {}" if server_version >= ANALYZE_ONLY_SINCE else "{}")
            return sql.statement(
                "vacuum/analyze",
                {"options": composing.SQL("SKIP_LOCKED"), "relation": only.format(self.relation.sql)},
            )
        options = ["SKIP_LOCKED", "TRUNCATE off", "INDEX_CLEANUP on", "PARALLEL 0"]
        options += ["ANALYZE"] if self.analyze else []
        options += ["FREEZE"] if self.freeze else []
        options += [] if self.toast or self.freeze else ["PROCESS_TOAST off"]
        if server_version >= _SKIP_DATABASE_STATS_SINCE and not self.freeze:
            options += ["SKIP_DATABASE_STATS"]
        listed = composing.SQL(", ").join(composing.SQL(option) for option in options)
        return sql.statement("vacuum/vacuum", {"options": listed, "relation": self.relation.sql})

    def __str__(self) -> str:
        words = ["ANALYZE"] if self.parent else ["VACUUM"]
        words += ["FREEZE"] if self.freeze else []
        words += ["ANALYZE"] if self.analyze else []
        return f"{' '.join(words)} {self.relation}"
