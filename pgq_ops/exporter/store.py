"""What is exported of the database, in memory: samples by job table and probe, replaced by each look."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from pgq_ops.exporter import health
from pgq_ops.probes.registry import DATABASE_PROBES, PROBES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prometheus_client.core import Metric

    from pgq_ops.metrics import Family, Sample

FAMILIES: tuple[Family, ...] = (
    *health.FAMILIES,
    *(family for probe in DATABASE_PROBES for family in probe.families),
    *(family for probe in PROBES for family in probe.families),
)


class Store(Collector):
    """The samples. Register it with a `CollectorRegistry`; a scrape then reads memory only. Thread-safe."""

    def __init__(self, families: Iterable[Family] = FAMILIES) -> None:
        self._families = tuple(families)
        self._samples: dict[tuple[str, str], tuple[Sample, ...]] = {}
        self._lock = Lock()
        self._build = health.build_info()

    def put(self, job_table: str, probe: str, samples: Iterable[Sample]) -> None:
        """Replace what a probe said of a job table."""
        made = tuple(samples)
        with self._lock:
            self._samples[job_table, probe] = made

    def remove(self, job_table: str, probe: str) -> None:
        """Drop what a probe said: it failed, and old values must not look like new ones."""
        with self._lock:
            self._samples.pop((job_table, probe), None)

    def forget(self, job_table: str) -> None:
        """Drop all that was said of a job table."""
        with self._lock:
            self._samples = {key: samples for key, samples in self._samples.items() if key[0] != job_table}

    def samples(self) -> list[Sample]:
        """Everything that is exported now."""
        with self._lock:
            return [self._build, *(sample for samples in self._samples.values() for sample in samples)]

    def describe(self) -> Iterator[Metric]:
        """Every family without samples, for the registry's check of names."""
        return (_metric(family) for family in self._families)

    def collect(self) -> Iterator[Metric]:
        """Every family, the job tables' samples of it together."""
        metrics = {family: _metric(family) for family in self._families}
        for sample in self.samples():
            metrics[sample.family].add_metric(sample.labels, sample.value)
        return iter(metrics.values())


def _metric(family: Family) -> GaugeMetricFamily | CounterMetricFamily:
    if family.type == "counter":
        return CounterMetricFamily(family.full_name, family.help_text, labels=family.labels)
    return GaugeMetricFamily(family.full_name, family.help_text, labels=family.labels)


def exposition(store: Store) -> str:
    """The store alone in the text format."""
    registry = CollectorRegistry()
    registry.register(store)
    return generate_latest(registry).decode("utf-8")
