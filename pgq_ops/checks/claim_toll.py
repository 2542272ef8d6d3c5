"""What a claim costs more than it should: pages read, against what it would read by its index without dead rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from pgq_ops.checks.look import Look
    from pgq_ops.stats.claim_cost import ClaimCost

# A healthy claim reads 3 pages, and 50 at its worst (performance.md). With 5,000 dead entries before the first live one
# it reads 851, with 20,000 already 4,240 (postgres-facts.md): costly is beyond any healthy one, slow is milliseconds.
_COSTLY_BUFFERS, _SLOW_BUFFERS, _TIMES_HEALTHY = 100, 1_000, 10
# Fewer dead rows than this cost nothing that anybody feels; a claim that takes too long to be measured has met more.
_FELT_ROWS, _ROWS_OF_A_TIMEOUT = 1_000, 10_000
# An index page of 8 kB holds some 200 entries of a time and an id.
_ENTRIES_A_PAGE = 200


@dataclass(frozen=True, slots=True)
class Toll:
    """A claim that costs too much; `buffers` is None where it took longer than `timeout_seconds`."""

    buffers: int | None
    seconds: float | None
    healthy: int
    timeout_seconds: float

    @property
    def costly(self) -> bool:
        """Whether it is beyond any healthy one."""
        return self.buffers is None or self.buffers >= max(_COSTLY_BUFFERS, _TIMES_HEALTHY * self.healthy)

    @property
    def slow(self) -> bool:
        """Whether workers feel it now."""
        return self.buffers is None or self.buffers >= max(_SLOW_BUFFERS, _TIMES_HEALTHY * self.healthy)

    def is_explained_by(self, dead_rows: int | None) -> bool:
        """Whether so many dead rows can cost so much: an entry costs a claim two pages at most. None: who knows."""
        if dead_rows is None:
            return True
        if self.buffers is None:
            return dead_rows >= _ROWS_OF_A_TIMEOUT
        return dead_rows >= max(_FELT_ROWS, (self.buffers - self.healthy) / 2)

    def in_words(self) -> str:
        """`read 10,199 buffers (3 when healthy)`."""
        if self.buffers is None:
            return f"take longer than {format_duration(self.timeout_seconds)} ({self.healthy:,} buffers when healthy)"
        return f"read {self.buffers:,} buffers ({self.healthy:,} when healthy)"

    def evidence(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "buffers": self.buffers,
            "healthy_buffers": self.healthy,
            "seconds": None if self.seconds is None else round(self.seconds, 4),
            "timed_out": self.buffers is None,
        }


def toll_of(look: Look) -> Toll | None:
    """The toll, None where claims cost what they should, or more for another reason: their plan, or live rows."""
    claim, toll = look.claim, measured(look)
    if claim is None or toll is None or not _goes_by_index(claim):
        return None
    live = claim.plan.rows_read if claim.plan is not None else 0
    return toll if toll.buffers is None or (toll.costly and 2 * live < toll.buffers) else None


def measured(look: Look) -> Toll | None:
    """What a claim costs now, for whatever reason; None where that was not looked at."""
    claim = look.claim
    if claim is None or (claim.buffers is None and not claim.timed_out):
        return None
    return Toll(claim.buffers, claim.seconds, _healthy(look), claim.timeout_seconds)


def _goes_by_index(claim: ClaimCost) -> bool:
    """Whether the jobs are found by indexes in the order in which they are claimed."""
    if claim.plan is not None:
        return bool(claim.plan.indexes) and not claim.plan.sorts and not claim.plan.scans_table
    return claim.timed_out and " using " in claim.planned and not claim.planned.startswith("Sort")


def _healthy(look: Look) -> int:
    """What a claim should read: the least that it was seen to, or what a tree of the table's size asks for.

    That is in each leaf the index pages from the root to an entry, at 200 entries a page, and the row's own page.
    """
    leaves = look.health.leaves if look.health is not None else ()
    derived = sum(_levels(leaf.live_rows or 0) + 1 for leaf in leaves) or 3
    best = look.best_claim.buffers if look.best_claim is not None else None
    return derived if not best else min(best, derived)


def _levels(rows: int) -> int:
    return max(1, math.ceil(math.log(max(rows, 2), _ENTRIES_A_PAGE)))
