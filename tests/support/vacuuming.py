"""What VACUUM VERBOSE says it had to keep, beside what pgq-ops says holds it back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg

from pgq_ops.stats import horizon

if TYPE_CHECKING:
    from pgq_ops.stats.horizon import Holder, Horizon
    from tests.support.database import Database

# PostgreSQL 15 and later; 14.
_KEPT = re.compile(r"(\d+) are dead but not yet removable|(\d+) dead row versions cannot be removed yet")
_CUTOFF = re.compile(r"removable cutoff: (\d+)|oldest xmin: (\d+)")
# Autovacuum may be at a catalog just then.
_NOT_OURS = "autovacuum worker"
_NEXT_XID = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """Dead row versions that were kept, and the oldest transaction whose dead rows had to be."""

    kept: int
    cutoff: int


@dataclass(slots=True)
class Ground:
    """A table `t` of one row, changed over and over, in a database where others may hold what died."""

    database: Database

    def __post_init__(self) -> None:
        self.database.execute("CREATE TABLE t (id int PRIMARY KEY, n int) WITH (autovacuum_enabled = off)")
        self.database.execute("INSERT INTO t VALUES (1, 0), (2, 0)")

    def look(self, **options: Any) -> Horizon:
        """As the probe looks."""
        connection = self.database.connect(**options)
        try:
            return horizon.read(connection)
        finally:
            connection.close()

    def holders(self, **options: Any) -> list[Holder]:
        return [one for one in self.look(**options).holders if one.backend_type != _NOT_OURS]

    def change(self, times: int = 5) -> None:
        """Let so many versions of a row die, each in a transaction of its own."""
        for _ in range(times):
            self.database.execute("UPDATE t SET n = n + 1 WHERE id = 2")

    def vacuum(self) -> Vacuumed:
        """VACUUM VERBOSE the table; what it says."""
        connection = self.database.connect()
        said: list[str] = []
        connection.add_notice_handler(
            lambda notice: said.append(f"{notice.message_primary}\n{notice.message_detail or ''}")
        )
        connection.execute("VACUUM (VERBOSE, INDEX_CLEANUP ON) t")
        connection.close()
        [text] = [one for one in said if _KEPT.search(one)]
        return Vacuumed(_number(_KEPT, text), _number(_CUTOFF, text))

    def agree(self, kept: int) -> Vacuumed:
        """Look and vacuum: both see the same horizon, and so many versions are kept."""
        age = self.look().age_xids
        expected = self.database.value(_NEXT_XID) - age
        vacuumed = self.vacuum()
        assert vacuumed == Vacuumed(kept, expected), f"{vacuumed}, not {kept} and {expected}"
        return vacuumed


def begun(database: Database, name: str, *statements: str, repeatable: bool = False) -> psycopg.Connection[Any]:
    """A session with that application_name, in a transaction in which it has run the statements."""
    connection = database.connect(autocommit=False, application_name=name)
    if repeatable:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    for statement in statements:
        connection.execute(statement.encode())
    return connection


def _number(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.search(text)
    assert match, text
    return int(match[1] or match[2])
