"""Which of the claim's indexes are bloated: larger than what they held at the queue's worst ever asked for.

An index grows with the queue and does not shrink with it; PostgreSQL uses its empty pages again. So one that seems far
too large is rather the right size for last night: it is judged by the most entries that it was seen to hold in a day.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pgq_ops.job_table.table import Relation
    from pgq_ops.stats.index_bloat import IndexSize
    from pgq_ops.stats.table_health import TableHealth

WATCHED_SECONDS = 86_400.0
"""Every hour of the day was seen."""
LEAST_RATIO = 3.0
"""Pages that were split in the middle of their entries are half full, and the estimate may be 2 times off for texts."""


@dataclass(frozen=True, slots=True)
class IndexBloat:
    """An index that is too large for the most `entries` that it held, dead ones included.

    `needed_bytes`: what it would take anew. `measured`: that is by its pages, else by the catalog alone.
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


@dataclass(slots=True)
class IndexPeaks:
    """Remembers by index since when it was watched, and the most entries; moments are monotonic seconds."""

    _since: dict[tuple[str, str], float] = field(default_factory=dict)
    _most: dict[tuple[str, str], float] = field(default_factory=dict)

    def bloated(
        self, sizes: Iterable[IndexSize], health: TableHealth, now: float
    ) -> Iterator[tuple[IndexSize, IndexBloat]]:
        """Those that are, by the catalog, once they were watched for a day. None where dead rows are not known."""
        dead = {leaf.oid: leaf.dead_rows for leaf in health.leaves}
        for size in sizes:
            # By name: REINDEX CONCURRENTLY makes another one of it.
            name = size.relation.schema, size.relation.name
            since = self._since.setdefault(name, now)
            left = dead.get(size.table)
            if left is None:
                continue
            most = self._most[name] = max(self._most.get(name, 0.0), size.entries + left)
            needed = size.needed_bytes(most)
            if needed is not None and now - since >= WATCHED_SECONDS and size.bytes >= LEAST_RATIO * needed:
                yield size, IndexBloat(size.relation, size.bytes, needed, round(most))
