"""What the collection has seen of the job tables, for the tasks, which run on another thread."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.stats.churn import Churn
    from pgq_ops.stats.horizon import Horizon
    from pgq_ops.stats.table_health import TableHealth
    from pgq_ops.stats.vacuum_runs import VacuumRuns


@dataclass(frozen=True, slots=True)
class Observed:
    """Of one job table; by leaf's oid, where it is a mapping.

    `claims`: pairs of dead rows and of the pages that finding the next job took then, one for each look of the last
    hour. `claim_seconds`: how long that took at the last look.
    """

    health: TableHealth
    churn: Mapping[int, Churn] = field(default_factory=dict)
    runs: Mapping[int, VacuumRuns] = field(default_factory=dict)
    claims: tuple[tuple[int, int], ...] = ()
    claim_seconds: float | None = None
    horizon: Horizon | None = None


@dataclass(slots=True)
class Observations:
    """The last of each job table, by its name; for any thread."""

    _last: dict[str, Observed] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def put(self, name: str, observed: Observed) -> None:
        """Keep what was seen."""
        with self._lock:
            self._last[name] = observed

    def of(self, name: str) -> Observed | None:
        """What was seen last; None without a look since the table came under this agent."""
        with self._lock:
            return self._last.get(name)

    def forget(self, name: str) -> None:
        """What was seen is no longer true: nobody looks any more."""
        with self._lock:
            self._last.pop(name, None)
