"""Leases that expire all at once in a long table: our batches beside the article's one UPDATE, with the same index."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from psycopg import sql as composing

from benchmarks.expired import expired, held_snapshot, stuck_row
from benchmarks.figures import Figures, Series, Target, percentile, ratios
from benchmarks.heartbeats import heartbeats
from benchmarks.turns import in_turn
from pgq_ops.tasks.reap import Reap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from benchmarks.expired import Expired, Reaped
    from benchmarks.stage import Stage

# The one that serves both ways best, and the one that performance.md advises where leases are extended.
INDEXES = ("lease_until", "id")
# More than the one UPDATE needs where nobody is in its way.
_STUCK_SECONDS = 5.0
_REPETITIONS = 5
_BESIDE_REPETITIONS = 3
_IDLE_PASSES = 30


def run(stage: Stage) -> Figures:
    """Measure with each index."""
    series: list[Series] = []
    targets: list[Target] = []
    with stage.database(stage.scale.rows) as dsn, expired(dsn, stage.scale.expired) as jobs:
        for column in INDEXES:
            measured = _WithIndex(jobs, column)
            measured.create()
            measured.idle(stage.scale.repetitions(_IDLE_PASSES))
            measured.speed(stage.scale.repetitions(_REPETITIONS))
            measured.late_heartbeats(stage.scale.repetitions(_BESIDE_REPETITIONS))
            measured.snapshot(stage.scale.repetitions(_BESIDE_REPETITIONS))
            measured.stuck(stage.scale.seconds(_STUCK_SECONDS))
            series += measured.series
            targets += measured.targets
    about = f"{stage.scale.expired:,} expired leases of {stage.scale.rows:,} rows, one UPDATE and batches in turn"
    return Figures(about, tuple(series), tuple(targets))


@dataclass(slots=True)
class _WithIndex:
    """The measurements with one partial index on the running jobs."""

    jobs: Expired
    column: str
    series: list[Series] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    def create(self) -> None:
        """Put the index in place of the one before."""
        self.jobs.admin.execute("DROP INDEX demo_queue_jobs_running")
        create = "CREATE INDEX demo_queue_jobs_running ON demo_queue_jobs ({}) WHERE status = 'running'"
        self.jobs.admin.execute(composing.SQL(create).format(composing.Identifier(self.column)))

    def idle(self, times: int) -> None:
        """A pass of the agent's reaper that finds nothing, after one that had to find out about indexes."""
        self._of_expired(self.jobs.at_once)
        reaper = Reap(remembers=True)
        seconds: list[float] = []
        for _ in range(times + 1):
            began = time.perf_counter()
            reaper.run(self.jobs.ours.connection, self.jobs.ours.table, lambda: True)
            seconds.append(time.perf_counter() - began)
            for memory in reaper._memories.values():  # noqa: SLF001 (its queue is due again at once)
                memory.last_pass.clear()
        self._add("idle pass of the agent's reaper", "ms", (1000 * one for one in seconds[1:]))

    def speed(self, times: int) -> None:
        """Total time and longest transaction."""
        ways = (self.jobs.at_once, self.jobs.at_once_with_backoff, self.jobs.in_batches)
        one, spread, batches = in_turn(times, *(partial(self._of_expired, way) for way in ways))
        update = self._add("one UPDATE", "s", (reaped.seconds for reaped in one))
        backoff = self._add("one UPDATE that writes the backoff too", "s", (reaped.seconds for reaped in spread))
        total = self._add("batches", "s", (reaped.seconds for reaped in batches))
        longest = self._add("longest batch", "s", (reaped.longest_transaction_seconds for reaped in batches))
        self._target("speed, of the one UPDATE's", "%", _percent(update, total), 40, at_most=False)
        self._add("speed, of the one UPDATE's with the backoff", "%", _percent(backoff, total))
        self._target("longest transaction, of the one UPDATE's", "%", _percent(longest, update), 5)

    def late_heartbeats(self, times: int) -> None:
        """How long a heartbeat on an expired row takes meanwhile."""
        one, batches = in_turn(
            times, lambda: self._p99_beside(self.jobs.at_once), lambda: self._p99_beside(self.jobs.in_batches)
        )
        beside_one = self._add("late heartbeat p99 beside the one UPDATE", "ms", one)
        beside_batches = self._add("late heartbeat p99 beside the batches", "ms", batches)
        self._target("late heartbeat p99, of beside the one UPDATE", "%", _percent(beside_batches, beside_one), 5)

    def snapshot(self, times: int) -> None:
        """What a snapshot that is held since the leases expired does to the batches."""

        def beside_it() -> Reaped:
            with held_snapshot(self.jobs.dsn):
                return self.jobs.in_batches()

        free, held = in_turn(times, lambda: self._of_expired(self.jobs.in_batches), lambda: self._of_expired(beside_it))
        without = self._add("batches, without a held snapshot", "s", (reaped.seconds for reaped in free))
        beside = self._add("batches, with a held snapshot", "s", (reaped.seconds for reaped in held))
        self._target("time with a held snapshot, of without", "times", ratios(beside, without), 2)

    def stuck(self, timeout_seconds: float) -> None:
        """What each takes back while a session that does nothing has locked one of the rows."""
        self.jobs.expire()
        with stuck_row(self.jobs.dsn, (self.jobs.first + self.jobs.last) // 2):
            one = self.jobs.at_once(timeout_seconds).jobs
            ours = self.jobs.in_batches().jobs
        self._add(f"stuck row: one UPDATE, taken back in {timeout_seconds:g} s", "jobs", [one])
        self._add("stuck row: batches, taken back", "jobs", [ours])
        self._target("stuck row: left behind by the batches", "jobs", [self.jobs.jobs - ours], 1)

    def _of_expired(self, reap: Callable[[], Reaped]) -> Reaped:
        """Take back all jobs anew. Raises ValueError if that was not all: the time would mean nothing."""
        self.jobs.expire()
        reaped = reap()
        if reaped.jobs != self.jobs.jobs:
            raise ValueError(f"{reaped.jobs} of {self.jobs.jobs} jobs were taken back")
        return reaped

    def _p99_beside(self, reap: Callable[[], Reaped]) -> float:
        self.jobs.expire()
        with heartbeats(self.jobs.dsn, self.jobs.first, self.jobs.last) as beats:
            reap()
        return 1000 * percentile(beats.seconds, 0.99)

    def _add(self, name: str, unit: str, values: Iterable[float]) -> Series:
        self.series.append(Series.of(f"index on {self.column}: {name}", unit, values))
        return self.series[-1]

    def _target(self, name: str, unit: str, values: Iterable[float], limit: float, *, at_most: bool = True) -> None:
        """Add the series and hold its median to the limit."""
        one = self._add(name, unit, values)
        self.targets.append(Target(one.name, one.median, limit, unit, at_most))


def _percent(numerator: Series, denominator: Series) -> list[float]:
    return [100 * ratio for ratio in ratios(numerator, denominator)]
