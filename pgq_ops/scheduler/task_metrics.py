"""What is exported about the runs of tasks."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import metrics
from pgq_ops.tasks.task import Outcome

if TYPE_CHECKING:
    from datetime import timedelta

_LABELS = ("task", "database", "job_table")
# From an idle look (under a millisecond) to a statement that runs into its timeout of 30 s.
_BUCKETS = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 30.0)

_RUNS = metrics.counter("task_runs_total", "Runs of a task by how they ended.", (*_LABELS, "outcome"))
_DURATION = metrics.histogram("task_duration_seconds", "How long the runs of a task took.", _LABELS, _BUCKETS)
_LAST_SUCCESS = metrics.gauge(
    "task_last_success_timestamp_seconds",
    "When a run of a task last ended well, also with nothing to do; absent before the first.",
    _LABELS,
)
_INTERVAL = metrics.gauge("task_interval_seconds", "How often a task runs.", _LABELS)


@dataclass(frozen=True, slots=True)
class TaskMetrics:
    """The metrics of one task on one job table."""

    task: str
    database: str
    job_table: str

    @property
    def _labels(self) -> tuple[str, str, str]:
        return self.task, self.database, self.job_table

    def declare(self, interval: timedelta) -> None:
        """Export the interval, and every outcome from 0."""
        _INTERVAL.labels(*self._labels).set(interval.total_seconds())
        _DURATION.labels(*self._labels)
        for outcome in Outcome:
            _RUNS.labels(*self._labels, outcome)

    def ran(self, outcome: Outcome, duration: timedelta) -> None:
        """Count a run."""
        _RUNS.labels(*self._labels, outcome).inc()
        _DURATION.labels(*self._labels).observe(duration.total_seconds())
        if outcome in (Outcome.OK, Outcome.NOTHING):
            _LAST_SUCCESS.labels(*self._labels).set(time.time())

    def withdraw(self) -> None:
        """Export nothing more: the job table, or the task, is configured no longer."""
        for metric in (_INTERVAL, _DURATION, _LAST_SUCCESS):
            with suppress(KeyError):
                metric.remove(*self._labels)
        for outcome in Outcome:
            with suppress(KeyError):
                _RUNS.remove(*self._labels, outcome)
