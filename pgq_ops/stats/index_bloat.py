"""Whether an index is far larger than what it holds: by the catalog, and by pgstatindex where that is to be had.

For columns of a fixed length the catalog's estimate is off by a hundredth (tried: 2,743 pages for 2,745). For texts
whose length differs from state to state it may be 2 times too low or high. Equal entries are stored as one, which is
left out: with many of them an index is much smaller than reckoned (tried: 807 pages for 4,957), and never found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops import sql
from pgq_ops.job_table.quoting import identifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import Relation
    from pgq_ops.stats.index_sizes import IndexSize

LEAST_RATIO = 3.0
"""Pages that were split in the middle of their entries are half full, and the estimate may be 2 times off for texts."""
# pgstatindex read 5,000 pages in 6 to 20 ms: these take as long as a look may.
_CHEAP_PAGES = 32_768
# Each reads a whole index.
_MOST_MEASURED = 3


@dataclass(frozen=True, slots=True)
class IndexBloat:
    """An index that is too large for so many `entries`, dead ones included.

    `needed_bytes`: what it would take anew. `measured`: its pages were looked at too, else the catalog alone tells.
    """

    relation: Relation
    bytes: int
    needed_bytes: float
    entries: int
    measured: bool = False

    @property
    def ratio(self) -> float:
        """How many times larger it is."""
        return self.bytes / self.needed_bytes


def reckoned(size: IndexSize, entries: float) -> IndexBloat | None:
    """By the catalog; None where it is not too large, or that cannot be told."""
    needed = size.needed_bytes(entries)
    if needed is None or size.bytes < LEAST_RATIO * needed:
        return None
    return IndexBloat(size.relation, size.bytes, needed, round(entries))


def confirmed(connection: Connection, bloated: Iterable[tuple[IndexSize, IndexBloat]]) -> Iterator[IndexBloat]:
    """Those that their pages do not contradict. Raises the driver's errors, but none of a lock or of a timeout."""
    for number, (size, bloat) in enumerate(bloated):
        needed = _measured_bytes(connection, size) if number < _MOST_MEASURED else None
        if needed is None:
            yield bloat
        elif size.bytes >= LEAST_RATIO * needed:
            yield replace(bloat, needed_bytes=max(needed, bloat.needed_bytes), measured=True)


def _measured_bytes(connection: Connection, size: IndexSize) -> float | None:
    """How large the index would be anew, by its pages; None where pgstatindex is not to be had, or not cheap."""
    if size.pages > _CHEAP_PAGES:
        return None
    schemas = connection.execute(sql.statement("stats/index_content_function"), {}).fetchall()
    if not schemas:
        return None
    function = identifier(schemas[0][0], "pgstatindex")
    statement = sql.statement("stats/index_content", {"pgstatindex": function})
    try:
        [(pages,)] = connection.execute(statement, {"oid": size.relation.oid}).fetchall()
    except (errors.QueryCanceled, errors.LockNotAvailable):
        return None
    return float(pages) / size.fill * size.page_bytes
