"""Counters that never fall, made of those of pg_stat_statements, which begin anew at a reset, a crash, an eviction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    # A statement as pg_stat_statements tells it from others in one database: the role's oid and the query's id.
    Key = tuple[int, int]


class Counted(NamedTuple):
    """What one statement came to since its counters began: calls, seconds of execution, rows returned or changed.

    `since`: when that was, in epoch seconds; 0 where it is not known.
    """

    calls: int
    seconds: float
    rows: int
    since: float = 0.0


_NOTHING = Counted(0, 0.0, 0)


@dataclass(slots=True)
class ClaimTally:
    """The sums over all statements ever counted; what one had before it was seen first counts too."""

    calls: int = 0
    seconds: float = 0.0
    rows: int = 0
    _last: dict[Key, Counted] = field(default_factory=dict)

    def add(self, counters: Mapping[Key, Counted]) -> None:
        """Add what came since the last time. A counter that fell has begun anew; one that is gone adds nothing."""
        for key, now in counters.items():
            before = self._last.get(key, _NOTHING)
            if now.since != before.since or any(new < old for new, old in zip(now, before, strict=True)):
                before = _NOTHING
            self.calls += now.calls - before.calls
            self.seconds += now.seconds - before.seconds
            self.rows += now.rows - before.rows
            self._last[key] = now
