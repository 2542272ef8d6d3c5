"""How large the indexes are by which jobs are claimed, and what they hold, by the catalog."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.job_table.table import Relation
from pgq_ops.stats import bounded, index_need
from pgq_ops.stats.index_support import Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import sql as composing

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.claim_cost import ClaimCost
    from pgq_ops.stats.index_support import IndexSupport

LEAST_BYTES = 100 * 1024**2
"""A smaller index costs a vacuum, which reads all of it, less than a tenth of a second."""


@dataclass(frozen=True, slots=True)
class IndexSize:
    """An index of at least LEAST_BYTES, as of its last vacuum or analyze. `table`: the oid of the one that it is on.

    `entries`: below 0: not known. `entry_bytes`: of an entry's columns; None where those of one are not known.
    `fill`: the share of a page that is filled at first.
    """

    relation: Relation
    table: int
    pages: int
    entries: float
    fill: float
    page_bytes: int
    entry_bytes: float | None
    nullable: bool

    @property
    def bytes(self) -> int:
        """How large it is."""
        return self.pages * self.page_bytes

    def needed_bytes(self, entries: float) -> float | None:
        """How large it would be anew with so many entries; None where that cannot be told."""
        if self.entry_bytes is None or self.entries < 0:
            return None
        return self.page_bytes * index_need.pages(
            entries, self.entry_bytes, nullable=self.nullable, fill=self.fill, page_bytes=self.page_bytes
        )


def read(connection: Connection, table: JobTable, names: Sequence[str]) -> tuple[IndexSize, ...]:
    """The B-trees of the job table's leaves with these names that are large, the largest first; waits for no lock.

    Raises the driver's errors.
    """
    parameters = {"names": list(names), "least_bytes": LEAST_BYTES}
    rows, _ = bounded.read(connection, table, _look(partitioned=table.partitioned), parameters)
    return tuple(
        IndexSize(Relation(oid, schema, name), on, pages, entries, fill / 100, *rest)
        for oid, schema, name, on, pages, entries, fill, *rest in rows
    )


def claim_indexes(claim: ClaimCost | None, support: IndexSupport | None) -> tuple[str, ...]:
    """The names of the indexes by which the claim goes; where it goes by none just now, of those that it would."""
    if claim is not None and claim.plan is not None and claim.plan.indexes:
        return claim.plan.indexes
    serving = support.serving.get(Question.PENDING_IN_ORDER) if support is not None else None
    return serving.indexes if serving is not None else ()


@cache
def _look(*, partitioned: bool) -> composing.SQL:
    tables = sql.statement("stats/attached_tables" if partitioned else "stats/one_table")
    return bounded.composed_once(sql.statement("stats/index_sizes", {"tables": tables}))
