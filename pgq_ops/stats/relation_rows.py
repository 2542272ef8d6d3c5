"""How many rows the job table and how many entries its indexes have, as the catalog remembers them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from pgq_ops import sql
from pgq_ops.stats import bounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from psycopg import sql as composing

    from pgq_ops.stats.index_support import IndexSupport


@dataclass(frozen=True, slots=True)
class RelationRows:
    """By oid, as of the last vacuum or analyze. `leaves` are the tables that hold the jobs."""

    leaves: tuple[int, ...] = ()
    by_oid: Mapping[int, float] = field(default_factory=dict)

    def of(self, oids: Iterable[int]) -> int:
        """The sum over some of them; one that is gone counts nothing."""
        return int(sum(self.by_oid.get(oid, 0.0) for oid in set(oids)))

    @property
    def jobs(self) -> int:
        """All jobs; 0 where nothing is known."""
        return self.of(self.leaves)


@cache
def look() -> composing.SQL:
    """The look at the catalog, which waits for no lock. Its parameters are `parameters()`."""
    return bounded.composed_once(sql.statement("stats/relation_rows"))


def parameters(support: IndexSupport) -> dict[str, list[int]]:
    """The oids to ask for: the leaves, and every index that serves."""
    indexes = [oid for serving in support.serving.values() for oid in serving.oids]
    return {"oids": sorted({*_leaves(support), *indexes})}


def parsed(support: IndexSupport, rows: Iterable[tuple[Any, ...]]) -> RelationRows:
    """What the look returned."""
    return RelationRows(_leaves(support), {int(oid): float(number) for oid, number in rows})


def _leaves(support: IndexSupport) -> tuple[int, ...]:
    return tuple(branch.relation.oid for branch in support.tree if branch.leaf)
