"""The agent's collector on a clock that can be moved on, so that the time between two collections passes at once."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.bound import bound
from pgq_ops.db.connection import PROBE_LIMITS, Purpose
from pgq_ops.exporter.collection import Collector
from pgq_ops.exporter.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.bound import Bound

# The default of agent.collect_every.
EVERY_SECONDS = 5.0
# A little more than the 100 times after which every probe is due again, and the longest interval of any.
_DUE_AGAIN, _LONGEST_INTERVAL_SECONDS = 101, 15.0


@dataclass(slots=True)
class Clock:
    """Monotonic seconds, moved on by hand as well."""

    ahead: float = 0.0

    def __call__(self) -> float:
        """The time."""
        return time.monotonic() + self.ahead


@dataclass(slots=True)
class Collecting:
    """An agent's collections of one job table."""

    ours: Bound
    clock: Clock = field(default_factory=Clock)
    store: Store = field(default_factory=Store)
    collector: Collector = field(init=False)

    def __post_init__(self) -> None:
        """Start without anything remembered."""
        self.collector = Collector(self.ours.session, self.store, clock=self.clock)

    def once(self) -> float:
        """Collect what is due, and pass the time until the next collection; returns the seconds it took.

        Raises RuntimeError where a probe failed: what it would have cost is not known then.
        """
        began = time.perf_counter()
        failures = self.collector.collect_database([self.ours.table])
        failures += self.collector.collect(self.ours.table).failures
        seconds = time.perf_counter() - began
        self.clock.ahead += max(0.0, EVERY_SECONDS - seconds)
        if failures:
            raise RuntimeError(str(failures))
        return seconds

    def full(self) -> float:
        """Collect with every probe, however long the one before took; returns seconds."""
        seconds = self.once()
        self.clock.ahead += max(_DUE_AGAIN * seconds, _LONGEST_INTERVAL_SECONDS)
        return seconds

    def value(self, metric: str) -> float | None:
        """The metric's one value; None where it has none, or several."""
        found = [sample.value for sample in self.store.samples() if sample.family.full_name == f"pgqops_{metric}"]
        return found[0] if len(found) == 1 else None


@contextmanager
def collecting(dsn: str) -> Iterator[Collecting]:
    """A collector with the agent's own session and limits."""
    with bound(dsn, Purpose.PROBES, PROBE_LIMITS) as ours:
        yield Collecting(ours)
