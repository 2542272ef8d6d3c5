"""A collection and a reap while 8 workers keep the queue busy, each beside the article's statement for it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING

from benchmarks.collecting import collecting
from benchmarks.expired import expired
from benchmarks.figures import Figures, Series, Target, percentile, ratios
from benchmarks.history import insert_working, settle, statement
from benchmarks.turns import in_turn
from benchmarks.workers import workers

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.expired import Expired, Reaped
    from benchmarks.stage import Stage
    from benchmarks.workers import Worked, Workers

_REPETITIONS = 5
_CEILING_SECONDS = 5.0
# As often as an agent collects by default; what is measured begins after the first part of it.
_WINDOW_SECONDS = 5.0
_BEGIN = 0.2
# As performance.md says of the whole agent.
_MOST_OF_ALONE = 1.5


@dataclass(frozen=True, slots=True)
class Window:
    """One action's seconds, and how long the workers' claims took around it."""

    seconds: float
    claims: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """One way to do something: `act` returns the seconds it took, `prepare` comes before the workers begin."""

    name: str
    act: Callable[[], float]
    prepare: Callable[[], None]


@dataclass(slots=True)
class _Busy:
    """Workers at half of their ceiling, while something else is done once."""

    crew: Workers
    rate: float
    seconds: float
    series: list[Series] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    def beside(self, way: Way) -> Window:
        """Do it in a window in which they work."""
        way.prepare()
        worked: list[Worked] = []
        thread = Thread(target=lambda: worked.append(self.crew.work(self.seconds, self.rate)))
        thread.start()
        time.sleep(_BEGIN * self.seconds)
        seconds = way.act()
        thread.join()
        return Window(seconds, worked[0].claims)

    def compare(self, times: int, naive: Way, ours: Way) -> None:
        """Add both ways' seconds, their ratio, and what the claims took around them and without either."""
        neither = Way(f"neither {naive.name} nor {ours.name}", lambda: 0.0, naive.prepare)
        ways = neither, naive, ours
        windows = in_turn(times, *(partial(self.beside, way) for way in ways))
        found = [
            Series.of(way.name, "ms", (1000 * window.seconds for window in measured))
            for way, measured in zip(ways[1:], windows[1:], strict=True)
        ]
        self.series += [*found, Series.of(f"{ours.name}: speed, of {naive.name}", "times", ratios(*found))]
        for way, measured in zip(ways, windows, strict=True):
            for title, share in (("p99", 0.99), ("longest", 1.0)):
                values = (1000 * percentile(window.claims, share) for window in measured)
                self.series.append(Series.of(f"claims beside {way.name}: {title}", "ms", values))

    def hold(self, ours: str, naive: str) -> None:
        """Hold the claims' p99 beside ours to what the whole agent may cost."""
        values = {one.name: one for one in self.series}
        alone = values[f"claims beside neither {naive} nor {ours}: p99"]
        of_alone = Series.of(
            f"claims beside {ours}: p99, of alone", "times", ratios(values[f"claims beside {ours}: p99"], alone)
        )
        self.series.append(of_alone)
        self.targets.append(Target(of_alone.name, of_alone.median, _MOST_OF_ALONE, "times"))


def run(stage: Stage) -> Figures:
    """Compare them in one long table."""
    times = stage.scale.repetitions(_REPETITIONS)
    with (
        stage.database(stage.scale.rows) as dsn,
        expired(dsn, stage.scale.expired) as jobs,
        workers(dsn) as crew,
        collecting(dsn) as ours,
    ):
        insert_working(jobs.admin, stage.scale.rows)
        ceiling = crew.work(stage.scale.seconds(_CEILING_SECONDS)).jobs_per_second
        busy = _Busy(crew, ceiling / 2, stage.scale.seconds(_WINDOW_SECONDS))
        ours.full()
        clean = partial(settle, jobs.admin)
        busy.compare(times, Way("GROUP BY", partial(_grouped, jobs), clean), Way("a collection", ours.full, clean))
        busy.hold("a collection", "GROUP BY")
        at_once, batches = (partial(_seconds, way) for way in (jobs.at_once, jobs.in_batches))
        busy.compare(times, Way("one UPDATE", at_once, jobs.expire), Way("batches", batches, jobs.expire))
    about = f"{stage.scale.rows:,} rows, 8 workers at half of their ceiling of {ceiling:,.0f} jobs/s, in turn"
    return Figures(about, tuple(busy.series), tuple(busy.targets))


def _grouped(jobs: Expired) -> float:
    began = time.perf_counter()
    jobs.admin.execute(statement("count_by_status"), {})
    return time.perf_counter() - began


def _seconds(way: Callable[[], Reaped]) -> float:
    return way().seconds
