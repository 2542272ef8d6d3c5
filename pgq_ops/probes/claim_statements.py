"""The workers' own claims, where pg_stat_statements tells of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.metrics import Family
from pgq_ops.stats import claim_statements
from pgq_ops.stats.claim_tally import ClaimTally

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.metrics import Sample
    from pgq_ops.probes.memory import Memory
    from pgq_ops.stats.claim_statements import Found

_TABLE = ("database", "job_table")

SECONDS = Family(
    "claim_statement_seconds_total",
    "How long the workers' claims took to execute, by pg_stat_statements; absent where that shows none.",
    _TABLE,
    type="counter",
)
CALLS = Family("claim_statement_calls_total", "How often the workers claimed, alike.", _TABLE, type="counter")
ROWS = Family(
    "claim_statement_rows_total",
    "Jobs that the workers' claims returned, alike: where one call claims one job, the rest found nothing.",
    _TABLE,
    type="counter",
)

# What is called anew after a deployment is noticed after this long; the texts of 5,000 statements took 30 ms.
_FIND_EVERY_SECONDS = 600.0


@dataclass(slots=True)
class _Kept:
    """Which statements are counted, and the sums."""

    table: JobTable
    found: Found | None = None
    found_until: float = 0.0
    tally: ClaimTally = field(default_factory=ClaimTally)


class ClaimStatements:
    """The probe. That nothing can be known is no failure: the memory holds why."""

    name = "claim_statements"
    families = (SECONDS, CALLS, ROWS)
    # The counters of 5,000 statements took 5 ms: too long to be read each few seconds.
    every_seconds = 60.0

    def collect(self, connection: Connection, table: JobTable, memory: Memory) -> Iterable[Sample]:
        """Count once; leaves the sums in the memory."""
        kept: _Kept | None = memory.kept.get(self.name)
        if kept is None or kept.table.relation != table.relation:
            kept = memory.kept[self.name] = _Kept(table)
        if kept.found is None or kept.found.why_not or memory.now() >= kept.found_until:
            kept.found = _found(connection, table, kept.found)
            kept.found_until = memory.now() + _FIND_EVERY_SECONDS
        kept.tally.add(claim_statements.count(connection, kept.found))
        memory.claim_statements = claim_statements.summed(kept.found, kept.tally)
        if kept.found.why_not:
            return []
        labels = (memory.database, table.name)
        tally = kept.tally
        return [
            SECONDS.sample(tally.seconds, *labels),
            CALLS.sample(tally.calls, *labels),
            ROWS.sample(tally.rows, *labels),
        ]


def _found(connection: Connection, table: JobTable, before: Found | None) -> Found:
    """The statements to count: those of before where none is seen just now, as after a reset while no worker claims."""
    found = claim_statements.find(connection, table)
    if before is not None and before.texts and not found.texts and not found.source.why_not:
        return before
    return found
