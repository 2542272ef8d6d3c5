"""Puts the looks at single states together to one row a queue."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.stats.depth import Age, Count, QueueDepth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pgq_ops.stats.extrapolation import Sample


@dataclass(slots=True)
class Tally:
    """What is known so far. `absent` is what holds, by state, for a queue that no row was seen of."""

    counts: dict[tuple[str | None, str], Count] = field(default_factory=dict)
    absent: dict[str, Count] = field(default_factory=dict)
    all_queues: dict[str, Count] = field(default_factory=dict)
    oldest_ready: dict[str | None, Age | None] = field(default_factory=dict)
    oldest_ready_elsewhere: Age | None = None
    oldest_dead: dict[str | None, float | None] = field(default_factory=dict)
    oldest_dead_elsewhere: float | None = None

    def enter(self, sample: Sample, states: Iterable[str], estimate: Callable[[], int]) -> None:
        """Enter a look that holds what there is to know of some states."""
        states = frozenset(states)
        counts = sample.counts(estimate)
        self.counts |= {(queue, state): count for (queue, state), count in counts.items() if state in states}
        self.absent |= {state: sample.absent(state) for state in sorted(states)}

    def enter_ages_of_ready(self, sample: Sample, now: float) -> None:
        """Enter how long jobs have been ready; `now` in epoch seconds, by the database's clock."""
        self.oldest_ready = sample.oldest_ready()
        self.oldest_ready_elsewhere = sample.oldest_ready_elsewhere(now)

    def enter_ages_of_dead(self, sample: Sample) -> None:
        """Enter how long jobs have been dead."""
        self.oldest_dead = {row.queue: row.oldest_seconds for row in sample.rows if row.state == "dead"}
        self.oldest_dead_elsewhere = None if sample.truncated else 0.0

    def guess(self, state: str, jobs: int) -> None:
        """Enter an estimate that cannot be told apart by queue."""
        self.all_queues[state] = Count(jobs, exact=False)

    def add_dead_letters(self, sample: Sample, estimate: Callable[[], int]) -> None:
        """Add the dead jobs that are kept in a table of their own."""
        for key, count in sample.counts(estimate).items():
            self.counts[key] = self.counts.get(key, self.absent.get("dead", Count(0))) + count
        self.absent["dead"] = self.absent.get("dead", Count(0)) + sample.absent("dead")
        for row in sample.rows:
            known = [age for age in (row.oldest_seconds, self.oldest_dead.get(row.queue)) if age is not None]
            self.oldest_dead[row.queue] = max(known, default=None)
        if not sample.truncated and self.oldest_dead_elsewhere is None and "dead" not in self.all_queues:
            self.oldest_dead_elsewhere = 0.0

    def rows(self) -> int:
        """All jobs counted or guessed so far."""
        return sum(count.value for count in [*self.counts.values(), *self.all_queues.values()])

    def queues(self, known: Iterable[str | None]) -> tuple[QueueDepth, ...]:
        """One row for each known queue and each that was seen."""
        return tuple(self._depth(queue) for queue in dict.fromkeys([*known, *(queue for queue, _ in self.counts)]))

    def _depth(self, queue: str | None) -> QueueDepth:
        counts = {state: self.counts.get((queue, state), absent) for state, absent in self.absent.items()}
        ready = self.oldest_ready.get(queue, self.oldest_ready_elsewhere)
        return QueueDepth(queue, counts, ready, self.oldest_dead.get(queue, self.oldest_dead_elsewhere))
