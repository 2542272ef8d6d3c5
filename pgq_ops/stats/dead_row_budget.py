"""How many dead rows the claim of a job table can bear, by what it has cost at how many.

A claim reads some more pages for each dead entry that it steps over. By how many depends on the index, on the rows'
order, and on how often claims come by, which mark what they met: so it is measured, as the slope of the claims' cost
over dead rows. Dead rows in other places than the claim's cost it nothing; then there is no slope.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from statistics import median, quantiles
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_ROWS = 5_000
"""Where nothing tells. A claim that nobody has gone before reads 851 pages then (postgres-facts.md); under way, where
each claim marks what it met, a tenth of that."""
LEAST_ROWS, MOST_ROWS = 500, 50_000
"""Fewer are not worth a vacuum; more are some pages of a B-tree that no claim should have to go through."""
BEARABLE_BUFFERS = 50
"""Of 8 kB: the most that a claim is to read at its worst (performance.md). A healthy one reads 3 to 5."""

# A job table with many partitions has claims that begin in each of them: what they read at best is theirs to keep.
_TIMES_BEST = 2
# Five minutes at one look in 15 s: dead rows have come and, mostly, gone.
_ENOUGH_LOOKS = 20
# Kendall's tau: how much more often the dearer one of two claims was that with more dead rows. 0 is no connection.
_CONNECTED = 0.3
# Pairs this close in dead rows tell of noise alone; where most are, the few others say too little.
_APART_ROWS, _APART_SHARE = 100, 0.2
# Nine of ten claims are to keep to what is bearable.
_DECILES, _NINTH = 10, 8


@dataclass(frozen=True, slots=True)
class Budget:
    """Dead rows, and in numbers why so many."""

    rows: int
    reason: str


def derive(claims: Sequence[tuple[int, int]]) -> Budget:
    """The budget by pairs of dead rows and pages read (`Observed.claims`), within LEAST_ROWS and MOST_ROWS."""
    if len(claims) < _ENOUGH_LOOKS:
        return _default(f"{len(claims)} looks at the claim do not tell yet ({_ENOUGH_LOOKS} would)")
    slopes, tau = _slopes(claims)
    most, best = max(dead for dead, _ in claims), min(buffers for _, buffers in claims)
    bearable = max(BEARABLE_BUFFERS, _TIMES_BEST * best)
    slope = median(slopes) if slopes else 0.0
    if slope <= 0 or tau < _CONNECTED:
        return _unconnected(claims, most, bearable)
    at_none = quantiles((buffers - slope * dead for dead, buffers in claims), n=_DECILES)[_NINTH]
    rows = round(max(0.0, bearable - at_none) / slope)
    bounded = min(max(rows, LEAST_ROWS), MOST_ROWS)
    limit = "" if bounded == rows else f", which is kept within {LEAST_ROWS:,} and {MOST_ROWS:,}"
    return Budget(
        bounded,
        f"claims read {best:,} pages at best and {slope * 1000:.1f} more for each 1,000 dead rows ({len(claims)} looks,"
        f" up to {most:,} dead rows): {bearable:,} pages at {rows:,}{limit}",
    )


def _slopes(claims: Sequence[tuple[int, int]]) -> tuple[list[float], float]:
    """Theil and Sen's slopes, of each two claims, whose median no outliers can bend; and Kendall's tau."""
    slopes = [
        (after - before) / (more - fewer)
        for (fewer, before), (more, after) in combinations(sorted(claims), 2)
        if more - fewer >= _APART_ROWS
    ]
    if len(slopes) < _APART_SHARE * math.comb(len(claims), 2):
        return [], 0.0
    return slopes, sum((slope > 0) - (slope < 0) for slope in slopes) / len(slopes)


def _unconnected(claims: Sequence[tuple[int, int]], most: int, bearable: int) -> Budget:
    """Where more dead rows make no claim dearer, as many are borne as were seen to be."""
    worst = quantiles((buffers for _, buffers in claims), n=_DECILES)[_NINTH]
    if worst > bearable:
        return _default(f"claims read {worst:,.0f} pages and more, whether there are many dead rows or few")
    if most <= DEFAULT_ROWS:
        return _default(f"claims read up to {worst:,.0f} pages, at up to {most:,} dead rows")
    rows = min(most, MOST_ROWS)
    return Budget(rows, f"claims read up to {worst:,.0f} pages, at up to {most:,} dead rows too ({len(claims)} looks)")


def _default(why: str) -> Budget:
    return Budget(DEFAULT_ROWS, f"{why}: {DEFAULT_ROWS:,} by default")
