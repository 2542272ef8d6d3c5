"""How many jobs there are: the rows that `queue_depths` reads, and what they come to under fewer names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Count:
    """A number of jobs; not `exact` where it is an estimate."""

    value: int
    exact: bool = True

    def __add__(self, other: Count) -> Count:
        return Count(self.value + other.value, self.exact and other.exact)


@dataclass(frozen=True, slots=True)
class Age:
    """Seconds since a moment, by the database's clock; not `exact` where it is only bounded."""

    seconds: float
    exact: bool = True


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """One queue. `counts` by state: scheduled, ready, running, done, dead, blocked, cancelled, unknown; those known.

    `oldest_ready` is 0 with nothing ready, None where it is not known; `oldest_dead_seconds` alike.
    """

    queue: str | None
    counts: Mapping[str, Count] = field(default_factory=dict)
    oldest_ready: Age | None = None
    oldest_dead_seconds: float | None = None

    @property
    def active(self) -> int:
        """Jobs that are or may be somebody's business: by them queues are ranked, not by finished history."""
        return sum(count.value for state, count in self.counts.items() if state not in ("done", "cancelled"))


@dataclass(frozen=True, slots=True)
class Depths:
    """A job table. `all_queues` holds, by state, the estimates that cannot be told apart by queue.

    `at`: when it was looked at, in epoch seconds by the database's clock. `watermark`, alike: no pending job is
    available before it. `timed_out`: the look at the pending jobs was cut off, and what is said of them rests on an
    older watermark or on estimates. `states_cut_off`: a look at another state was. `crowded`: states of which more than
    the cap was found, and for which a brief look will do for a while; of pending jobs only where all were ready.
    """

    queues: tuple[QueueDepth, ...]
    at: float
    all_queues: Mapping[str, Count] = field(default_factory=dict)
    watermark: float | None = None
    timed_out: bool = False
    states_cut_off: bool = False
    unknown_values: tuple[str | None, ...] = ()
    """Values of the state that are mapped to nothing, the most frequent first, None for NULL; where they were read."""
    crowded: frozenset[str] = frozenset()

    def total(self, state: str) -> Count | None:
        """All jobs in a state; None where nothing is known of it."""
        known = [queue.counts[state] for queue in self.queues if state in queue.counts]
        if state in self.all_queues:
            known.append(self.all_queues[state])
        return sum(known[1:], known[0]) if known else None


def by_label(queues: Iterable[QueueDepth], label: Callable[[str | None], str]) -> dict[str, QueueDepth]:
    """The queues under their labels; those that share one are added up, the ages by the oldest."""
    merged: dict[str, QueueDepth] = {}
    for depth in queues:
        name = label(depth.queue)
        known = merged.get(name)
        merged[name] = depth if known is None else _merged(known, depth)
    return merged


def _merged(one: QueueDepth, other: QueueDepth) -> QueueDepth:
    states = dict.fromkeys([*one.counts, *other.counts])
    counts = {state: one.counts.get(state, Count(0)) + other.counts.get(state, Count(0)) for state in states}
    ages = [age for age in (one.oldest_ready, other.oldest_ready) if age is not None]
    oldest = max(ages, key=lambda age: age.seconds) if ages else None
    if oldest is not None and not all(age.exact for age in ages):
        oldest = Age(oldest.seconds, exact=False)
    dead = [age for age in (one.oldest_dead_seconds, other.oldest_dead_seconds) if age is not None]
    return QueueDepth(one.queue, counts, oldest, max(dead, default=None))
