"""Whether autovacuum can come to a leaf as often as it would have to, whatever its settings are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.stats.table_health import LeafHealth
    from pgq_ops.stats.vacuum_settings import ServerAutovacuum

# PostgreSQL takes a second; below 5 s its launcher does nothing else.
_SHORTEST_NAPTIME = 5


@dataclass(frozen=True, slots=True)
class Reach:
    """One leaf: dead rows a second for VACUUM to remove, and how many of them a claim can bear."""

    leaf: LeafHealth
    dying: float
    budget_rows: int
    naptime_seconds: float

    @property
    def interval_seconds(self) -> float:
        """How long it takes until there are more than a claim can bear; infinite where none die."""
        return self.budget_rows / self.dying if self.dying > 0 else float("inf")

    @property
    def in_reach(self) -> bool:
        """Whether autovacuum, which comes by once in each naptime at most, can keep it there."""
        return self.interval_seconds >= self.naptime_seconds

    @property
    def naptime_wanted(self) -> int | None:
        """The longest naptime, in whole seconds, with which it could; None where no shorter one is advisable."""
        wanted = max(_SHORTEST_NAPTIME, int(min(self.interval_seconds, self.naptime_seconds)))
        return wanted if wanted < self.naptime_seconds else None


def of(leaf: LeafHealth, dying: float, budget_rows: int, server: ServerAutovacuum) -> Reach:
    """That of one leaf, on this server."""
    return Reach(leaf, dying, budget_rows, server.naptime_seconds)
