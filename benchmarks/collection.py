"""A collection of all probes, as the agent makes it, beside the article's `count(*) GROUP BY status`."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

import psycopg

from benchmarks.collecting import EVERY_SECONDS, Collecting, collecting
from benchmarks.expired import held_snapshot
from benchmarks.figures import Figures, Series, Target, ratios
from benchmarks.history import insert_working, settle, statement
from benchmarks.turns import in_turn
from pgq_ops.db.connection import PROBE_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.stage import Stage

_SHORTER = 10
# A minute of collections: what is looked at once a minute is among them.
_COLLECTIONS = 12
_REPETITIONS = 5
# How long the 1 % rule is watched, on the collector's clock.
_WATCHED_SECONDS = 1_800.0
# 300 times at 10 million rows: what is compared with grows with the table.
_FASTER_BY, _FASTER_AT = 300, 10_000_000


@dataclass(frozen=True, slots=True)
class Table:
    """A table, the statement that people write, and our collector."""

    dsn: str
    rows: int
    admin: psycopg.Connection[Any]
    ours: Collecting

    def grouped(self) -> float:
        """Seconds of the article's statement, with as many processes as the server grants."""
        began = time.perf_counter()
        self.admin.execute(statement("count_by_status"), {})
        return time.perf_counter() - began

    def collected(self) -> float:
        """Seconds of a collection: the median of a minute's."""
        return median(self.ours.full() for _ in range(_COLLECTIONS))


@dataclass(slots=True)
class _Report:
    series: list[Series] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    def add(self, name: str, unit: str, values: list[float]) -> Series:
        self.series.append(Series.of(name, unit, values))
        return self.series[-1]

    def target(self, one: Series, limit: float, *, at_most: bool = True) -> None:
        self.targets.append(Target(one.name, one.median, limit, one.unit, at_most))


def run(stage: Stage) -> Figures:
    """Measure in a long table and one of a tenth of it, then among dead entries, then without indexes."""
    report = _Report()
    long, short = stage.scale.rows, stage.scale.rows // _SHORTER
    with _table(stage, long) as large, _table(stage, short) as small:
        _beside_grouping(report, large, small, stage.scale.repetitions(_REPETITIONS))
        with held_snapshot(large.dsn):
            large.admin.execute(statement("insert_due"), {"rows": stage.scale.dead_entries})
            large.admin.execute(statement("finish_due"), {})
            _among_dead_entries(report, large, stage.scale.dead_entries)
        _without_indexes(report, large)
    return Figures(f"{long:,} finished jobs, and {short:,}; in turn", tuple(report.series), tuple(report.targets))


@contextmanager
def _table(stage: Stage, rows: int) -> Iterator[Table]:
    with (
        stage.database(rows) as dsn,
        psycopg.connect(dsn, autocommit=True) as admin,
        collecting(dsn) as ours,
    ):
        insert_working(admin, rows)
        yield Table(dsn, rows, admin, ours)


def _beside_grouping(report: _Report, large: Table, small: Table, times: int) -> None:
    grouped, in_large, in_small = in_turn(times, large.grouped, large.collected, small.collected)
    naive = report.add(f"count(*) GROUP BY status, {large.rows:,} rows", "ms", [1000 * one for one in grouped])
    ours = report.add(f"full collection, {large.rows:,} rows", "ms", [1000 * one for one in in_large])
    shorter = report.add(f"full collection, {small.rows:,} rows", "ms", [1000 * one for one in in_small])
    faster = report.add(f"times faster at {large.rows:,} rows", "", list(ratios(naive, ours)))
    report.target(faster, _FASTER_BY * large.rows / _FASTER_AT, at_most=False)
    growth = report.add(f"cost at {large.rows:,} rows, of that at {small.rows:,}", "times", list(ratios(ours, shorter)))
    report.target(growth, 1.3)


def _among_dead_entries(report: _Report, table: Table, entries: int) -> None:
    """An agent that looked before they came, and one that was started since."""
    with collecting(table.dsn) as fresh:
        for name, ours in (("", table.ours), (" for an agent just started", fresh)):
            milliseconds = [1000 * ours.full() for _ in range(_COLLECTIONS)]
            beside = f"beside {entries:,} dead entries{name}"
            report.add(f"first collection {beside}", "ms", milliseconds[:1])
            report.target(report.add(f"collection {beside}", "ms", milliseconds), PROBE_LIMITS.statement_ms)
            age, exact = ours.value("oldest_ready_age_seconds"), ours.value("oldest_ready_exact")
            known = report.add(f"an age was given {beside}", "", [float(age is not None and exact is not None)])
            report.target(known, 1, at_most=False)


def _without_indexes(report: _Report, table: Table) -> None:
    """With the claim's index alone: how much of half an hour the collections take."""
    table.admin.execute("DROP INDEX demo_queue_jobs_running, demo_queue_jobs_failed")
    settle(table.admin)
    with collecting(table.dsn) as ours:
        seconds = [ours.once() for _ in range(round(_WATCHED_SECONDS / EVERY_SECONDS))]
    report.add("collection with the claim's index alone", "ms", [1000 * one for one in seconds])
    share = report.add("share of the time with the claim's index alone", "%", [100 * sum(seconds) / _WATCHED_SECONDS])
    report.target(share, 1)
