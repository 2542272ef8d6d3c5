"""Two tables under the same churn at the same time: PostgreSQL's defaults, and the agent with its plan and its VACUUM.

After the churn a snapshot is held in both of them for a while, and let go.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from threading import Event
from typing import TYPE_CHECKING

import psycopg

from benchmarks.agent_process import agent
from benchmarks.churn_side import Side
from benchmarks.figures import Figures, Series, Target, percentile
from benchmarks.history import build
from benchmarks.stage import SETTINGS
from pgq_ops.demo.server import EmbeddedServer
from pgq_ops.schema.versions import install

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.stage import Stage

# Its history: PostgreSQL's defaults vacuum it at 200,000 dead rows.
_ROWS = 1_000_000
_CHURN_SECONDS, _HELD_SECONDS, _AFTER_SECONDS = 600.0, 180.0, 90.0
_CEILING_SECONDS = 5.0
_LOOKS, _STRETCHES = 600, 60
_MOST_BUFFERS = 50
_AUTOVACUUM = 'mode = "apply"\nvacuum = "when-needed"'


@dataclass(frozen=True, slots=True)
class _Times:
    """Monotonic seconds."""

    began: float
    held: float
    released: float
    ended: float

    def fifth(self, number: int) -> tuple[float, float]:
        """The first (0) to the last (4) fifth of the churn."""
        length = (self.held - self.began) / 5
        return self.began + number * length, self.began + (number + 1) * length


def run(stage: Stage) -> Figures:
    """Churn, hold, let go."""
    scale = stage.scale
    rows = min(_ROWS, scale.rows)
    settings = {name: value for name, value in SETTINGS.items() if name != "autovacuum"}
    with ExitStack() as stack:
        server = stack.enter_context(EmbeddedServer(settings, parent=stage.parent))
        sides = [stack.enter_context(Side(name, _database(server, name, rows))) for name in ("defaults", "agent")]
        ours = sides[1]
        rate = ours.ceiling(scale.seconds(_CEILING_SECONDS)) / 4
        running = stack.enter_context(agent(ours.dsn, "demo_queue_jobs", autovacuum=_AUTOVACUUM))
        running.until(lambda one: one.leads() == 1 and one.has_collected() == 1, "the agent leads and has looked")
        times = _churn(sides, rate, *map(scale.seconds, (_CHURN_SECONDS, _HELD_SECONDS, _AFTER_SECONDS)))
        sizes = {side.name: side.index_bytes() for side in sides}
    about = f"two tables of {rows:,} finished jobs at {rate:,.0f} jobs/s each, for {times.held - times.began:.0f} s"
    series, targets = zip(*_figures(sides, times), strict=True)
    indexes = [Series.of(f"{name}: indexes at the end", "MB", [size / 1e6]) for name, size in sizes.items()]
    return Figures(about, (*series, *indexes), tuple(target for target in targets if target is not None))


def _database(server: EmbeddedServer, name: str, rows: int) -> str:
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}".encode())
    with psycopg.connect(server.dsn(name), autocommit=True) as connection:
        build(connection, rows)
        install(connection)
    return server.dsn(name)


def _churn(sides: list[Side], rate: float, churn_seconds: float, held_seconds: float, after_seconds: float) -> _Times:
    stopped, every = Event(), churn_seconds / _LOOKS
    began = time.monotonic()
    threads = [side.churn(stopped, rate, churn_seconds / _STRETCHES) for side in sides]
    try:
        _look(sides, every, churn_seconds)
        held = time.monotonic()
        holders = [side.hold() for side in sides]
        _look(sides, every, held_seconds)
        for holder in holders:
            holder.close()
        released = time.monotonic()
        _look(sides, every, after_seconds)
        ended = time.monotonic()
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
    return _Times(began, held, released, ended)


def _look(sides: list[Side], every: float, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        next_at = time.monotonic() + every
        for side in sides:
            side.look()
        time.sleep(max(0.0, next_at - time.monotonic()))


def _figures(sides: list[Side], times: _Times) -> Iterator[tuple[Series, Target | None]]:
    peaks = {}
    for side in sides:
        churn, ours = side.between(times.began, times.held), side.name == "agent"
        peaks[side.name] = max(sample.dead_rows for sample in churn)
        yield Series.of(f"{side.name}: most dead rows", "rows", [peaks[side.name]]), None
        buffers = percentile((sample.buffers for sample in churn), 0.99)
        target = Target(f"{side.name}: claim buffers p99", buffers, _MOST_BUFFERS, "pages") if ours else None
        yield Series.of(f"{side.name}: claim buffers p99", "pages", [buffers]), target
        first, last = (median(side.claims_between(*times.fifth(number))) for number in (0, 4))
        yield Series.of(f"{side.name}: claim p50 in the first fifth", "ms", [1000 * first]), None
        yield Series.of(f"{side.name}: claim p50 in the last fifth", "ms", [1000 * last]), None
        name = f"{side.name}: claim p50 in the last fifth, of the first"
        yield Series.of(name, "times", [last / first]), Target(name, last / first, 1.3, "times") if ours else None
        held = max(sample.buffers for sample in side.between(times.held, times.released))
        yield Series.of(f"{side.name}: most claim buffers while a snapshot is held", "pages", [held]), None
        normal = _normal_after(side, times)
        name = f"{side.name}: seconds from its release to claims as before"
        yield Series.of(name, "s", [normal]), Target(name, normal, 10, "s") if ours else None
    ratio = peaks["agent"] / max(1, peaks["defaults"])
    name = "agent: most dead rows, of the defaults'"
    yield Series.of(name, "times", [ratio]), Target(name, ratio, 0.2, "times")


def _normal_after(side: Side, times: _Times) -> float:
    """Until a claim reads no more than it mostly did before, and goes on so; all of the time where it never did."""
    usual = max(_MOST_BUFFERS, percentile((one.buffers for one in side.between(times.began, times.held)), 0.99))
    dear = [sample.at for sample in side.between(times.released, times.ended) if sample.buffers > usual]
    return dear[-1] - times.released if dear else 0.0
