"""The indexes by which jobs are claimed are not far larger than what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks import index_bloat
from pgq_ops.checks.finding import Severity
from pgq_ops.checks.production.verdict import found, not_applicable, passed, unknown
from pgq_ops.checks.wording import indexes
from pgq_ops.stats import index_sizes
from pgq_ops.stats.index_bloat import confirmed, reckoned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.index_bloat import IndexBloat
    from pgq_ops.stats.index_sizes import IndexSize

ID = "index-bloat"
TITLE = "The claim's indexes are not far larger than what they hold"

_MEGABYTE = 1024**2


def check(examination: Examination) -> Verdict:
    """Info: it may be the right size for the queue at another hour, which one look does not know."""
    health = examination.look.health
    names = index_sizes.claim_indexes(examination.look.claim, examination.look.support)
    if health is None:
        return unknown("how many dead rows there are could not be read" + examination.why_not("relation"))
    if not names:
        return not_applicable("no index leads to the pending jobs")

    def large(connection: Connection, table: JobTable) -> tuple[IndexSize, ...]:
        return index_sizes.read(connection, table, names)

    sizes = examination.fact(large)
    dead = {leaf.oid: leaf.dead_rows for leaf in health.leaves}

    def bloated() -> Iterator[tuple[IndexSize, IndexBloat]]:
        for size in sizes:
            left = dead.get(size.table)
            bloat = None if left is None else reckoned(size, size.entries + left)
            if bloat is not None:
                yield size, bloat

    told = tuple(confirmed(examination.connection, bloated()))
    if not told:
        least = f"{index_sizes.LEAST_BYTES / _MEGABYTE:,.0f} MB"
        return passed(f"{indexes(len(names))}, {len(sizes):,} of at least {least}")
    return found(index_bloat.finding(told, Severity.INFO, "with what it holds now, which may be more at other hours"))
