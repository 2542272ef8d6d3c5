"""The names of this process's metrics: what its own actions count, and what is read from the database.

What the agent does itself is counted by the objects of `prometheus_client` that `counter` and its siblings
make, each declared where it is incremented. What is read from the database becomes fresh samples of a
`Family` each time. Both get the prefix here, and nowhere else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

PREFIX = "pgqops_"
REGISTRY = CollectorRegistry()
"""The registry of this process; the exporter serves it."""

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")

# A `_created` series doubles what a counter or histogram costs, and no query of ours reads it.
disable_created_metrics()  # type: ignore[no-untyped-call]


def metric_name(name: str) -> str:
    """The name with the prefix; raises ValueError for one that has it already, or is no snake_case."""
    if not _NAME.fullmatch(name) or name.startswith(PREFIX):
        raise ValueError(f'"{name}" must be snake_case without the prefix "{PREFIX}"')
    return PREFIX + name


def counter(name: str, help_text: str, labels: Sequence[str] = ()) -> Counter:
    """A counter of this process's own doing; the name ends in `_total`."""
    if not name.endswith("_total"):
        raise ValueError(f'the counter "{name}" must end in "_total"')
    return Counter(metric_name(name), help_text, labels, registry=REGISTRY)


def gauge(name: str, help_text: str, labels: Sequence[str] = ()) -> Gauge:
    """A gauge of this process's own state."""
    return Gauge(_not_a_counter(name), help_text, labels, registry=REGISTRY)


def histogram(name: str, help_text: str, labels: Sequence[str], buckets: Sequence[float]) -> Histogram:
    """A histogram of this process's own doing; `buckets` in the unit that the name ends in."""
    return Histogram(_not_a_counter(name), help_text, labels, buckets=buckets, registry=REGISTRY)


def _not_a_counter(name: str) -> str:
    if name.endswith("_total"):
        raise ValueError(f'"{name}" ends in "_total" and is no counter')
    return metric_name(name)


@dataclass(frozen=True, slots=True)
class Family:
    """A metric read from the database: what HELP and TYPE say, and its labels in their order.

    `name` is without the prefix, with `_total` where the type is counter.
    """

    name: str
    help_text: str
    labels: tuple[str, ...] = ()
    type: Literal["gauge", "counter"] = "gauge"

    def __post_init__(self) -> None:
        metric_name(self.name)
        if (self.type == "counter") != self.name.endswith("_total"):
            raise ValueError(f'"{self.name}": counters, and only they, end in "_total"')

    @property
    def full_name(self) -> str:
        """The name as it is exported."""
        return metric_name(self.name)

    def sample(self, value: float, *labels: str) -> Sample:
        """A sample with the labels' values in their order; raises ValueError for a wrong number of them."""
        if len(labels) != len(self.labels):
            raise ValueError(f"{self.name} has the labels {', '.join(self.labels)}, not {len(labels)} of them")
        return Sample(self, labels, float(value))


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of a family."""

    family: Family
    labels: tuple[str, ...]
    value: float
