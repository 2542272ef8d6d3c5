"""Counters over tables that come, go and begin anew: what they grew by, added up, so that the sum never falls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    Counts = tuple[int, ...]


@dataclass(slots=True)
class Accumulated:
    """Sums that begin at 0 with the first look and grow by what each source's counters grow by.

    A source that is gone takes nothing away, a new one adds what it counts from then on: a table with a past that is
    attached is no burst of work. One whose counters fell has begun anew, from zero.
    """

    sums: list[int]
    _last: dict[int, Counts] = field(default_factory=dict)

    def add(self, counts: Mapping[int, Counts]) -> Counts:
        """Take in the counters of all sources, by oid, as they are now: as many as there are sums. Gives the sums."""
        for source, now in counts.items():
            before = self._last.get(source, now)
            if any(new < old for old, new in zip(before, now, strict=True)):
                before = (0,) * len(now)
            for place, (old, new) in enumerate(zip(before, now, strict=True)):
                self.sums[place] += new - old
        self._last = dict(counts)
        return tuple(self.sums)
