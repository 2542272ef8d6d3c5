"""The vacuums that run now, and how far they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from pgq_ops import sql
from pgq_ops.stats import bounded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from psycopg import sql as composing

    from pgq_ops.db.connection import Connection

# By number, in the words of the view pg_stat_progress_vacuum.
_PHASES = (
    "initializing",
    "scanning heap",
    "vacuuming indexes",
    "vacuuming heap",
    "cleaning up indexes",
    "truncating heap",
    "performing final cleanup",
)


@dataclass(frozen=True, slots=True)
class VacuumProgress:
    """A vacuum or autovacuum that runs.

    `phase` in PostgreSQL's words, empty where this role may not see it; `scanned_ratio`: pages scanned, of all pages
    of the table (0 to 1), None where it is not known. `index_passes`: how often it has gone through all indexes.
    `relation`: the oid of what is vacuumed, the table or its TOAST table.
    """

    pid: int
    phase: str = ""
    scanned_ratio: float | None = None
    index_passes: int = 0
    relation: int = 0


@cache
def look() -> composing.SQL:
    """The look at the vacuums of this database; waits for no lock."""
    return bounded.composed_once(sql.statement("stats/running_vacuums"))


def by_table(connection: Connection, rows: Iterable[tuple[Any, ...]]) -> dict[int, VacuumProgress]:
    """What the look returned, by the oid of the table that is vacuumed (its TOAST table counts as one).

    Asks once more, for locks, where this role sees that a vacuum runs and not of what. Raises the driver's errors.
    """
    running: dict[int, VacuumProgress] = {}
    hidden: dict[int, VacuumProgress] = {}
    for pid, relation, phase, scanned, pages, passes in rows:
        if relation is None:
            hidden[pid] = VacuumProgress(pid)
        else:
            named = _PHASES[phase] if 0 <= phase < len(_PHASES) else ""
            running[relation] = VacuumProgress(pid, named, scanned / pages if pages else None, passes, relation)
    if hidden:
        locked = connection.execute(sql.statement("stats/vacuumed_tables"), {"pids": list(hidden)}).fetchall()
        running |= {relation: replace(hidden[pid], relation=relation) for pid, relation in locked}
    return running
