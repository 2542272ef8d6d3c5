"""Which of the claim's indexes are larger than what they held at the queue's worst asked for.

An index grows with the queue and does not shrink with it; PostgreSQL uses its empty pages again. So one that seems far
too large is rather the right size for last night: it is judged by the most entries that it was seen to hold in a day.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.stats.index_bloat import reckoned

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pgq_ops.stats.index_bloat import IndexBloat
    from pgq_ops.stats.index_sizes import IndexSize
    from pgq_ops.stats.table_health import TableHealth

WATCHED_SECONDS = 86_400.0
"""Every hour of the day was seen."""


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
            bloat = reckoned(size, most) if now - since >= WATCHED_SECONDS else None
            if bloat is not None:
                yield size, bloat
