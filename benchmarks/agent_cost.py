"""What workers notice of a whole agent on a queue at half of what the machine can do, and of the naive way."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import make_conninfo

from benchmarks.agent_process import agent
from benchmarks.figures import Figures, Series, Target, percentile, ratios
from benchmarks.history import settle, statement
from benchmarks.naive import naive_way
from benchmarks.turns import in_turn
from benchmarks.workers import workers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.stage import Stage
    from benchmarks.workers import Worked

_REPETITIONS = 10
_WORK_SECONDS = 10.0
_CEILING_SECONDS = 5.0
_TABLE = "demo_queue_jobs"
# A role of its own, so that its statements can be told from the workers'.
_ROLE = "bench_agent"


@dataclass(slots=True)
class _Way:
    """What the workers did beside one way to operate the queue."""

    name: str
    worked: list[Worked]

    def jobs(self) -> Series:
        return Series.of(f"{self.name}: throughput", "jobs/s", (one.jobs_per_second for one in self.worked))

    def claims(self, share: float) -> Series:
        name = f"{self.name}: claim p{100 * share:.0f}"
        return Series.of(name, "ms", (1000 * percentile(one.claims, share) for one in self.worked))


def run(stage: Stage) -> Figures:
    """Work alone, beside our agent and beside the naive way, in turn."""
    shares: list[float] = []
    with (
        stage.database(stage.scale.rows) as dsn,
        psycopg.connect(dsn, autocommit=True) as admin,
        workers(dsn) as crew,
    ):
        ceiling = crew.work(stage.scale.seconds(_CEILING_SECONDS)).jobs_per_second
        seconds, rate = stage.scale.seconds(_WORK_SECONDS), ceiling / 2

        def work() -> Worked:
            settle(admin)
            admin.execute("SELECT pg_stat_statements_reset()")
            return crew.work(seconds, rate)

        def beside_agent() -> Worked:
            with _running_agent(admin, dsn):
                worked = work()
                shares.append(_share(admin))
            return worked

        def beside_naive_way() -> Worked:
            with naive_way(dsn):
                return work()

        admin.execute("CREATE EXTENSION pg_stat_statements")
        alone, ours, naive = in_turn(stage.scale.repetitions(_REPETITIONS), work, beside_agent, beside_naive_way)
    ways = _Way("alone", alone), _Way("agent", ours), _Way("naive way", naive)
    return _figures(ceiling, ways, shares)


@contextmanager
def _running_agent(admin: psycopg.Connection[Any], dsn: str) -> Iterator[None]:
    """An agent that leads and has looked."""
    password = "bench"  # noqa: S105 (of a role that lives as long as the measurement)
    admin.execute(f"CREATE ROLE {_ROLE} SUPERUSER LOGIN PASSWORD '{password}'".encode())
    try:
        with agent(make_conninfo(dsn, user=_ROLE, password=password), _TABLE) as running:
            running.until(lambda one: one.leads() == 1 and one.has_collected() == 1, "the agent leads and has looked")
            yield
    finally:
        admin.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = %s", [_ROLE])
        admin.execute(f"DROP ROLE {_ROLE}".encode())


def _share(admin: psycopg.Connection[Any]) -> float:
    """Percent of the time of all statements that the agent's took."""
    row = admin.execute(statement("time_by_role"), {"role": _ROLE}).fetchone()
    mine, everybody = row or (0.0, 0.0)
    return float(100 * mine / everybody)


def _figures(ceiling: float, ways: tuple[_Way, _Way, _Way], shares: list[float]) -> Figures:
    alone, ours, naive = ways
    throughput = Series.of("agent: throughput, of alone", "%", [100 * x for x in ratios(ours.jobs(), alone.jobs())])
    share = Series.of("agent: share of all statements' time", "%", shares)
    series = [way.jobs() for way in ways] + [throughput, share]
    targets = [
        Target(share.name, share.median, 1, "%"),
        Target(throughput.name, throughput.median, 99, "%", at_most=False),
    ]
    for percent, limit in ((0.5, 1.05), (0.99, 1.5)):
        alone_claims = alone.claims(percent)
        series.append(alone_claims)
        for way in (ours, naive):
            claims = way.claims(percent)
            ratio = Series.of(f"{claims.name}, of alone", "times", ratios(claims, alone_claims))
            series += [claims, ratio]
            if way is ours:
                targets.append(Target(ratio.name, ratio.median, limit, "times"))
    about = f"8 workers at half of their ceiling of {ceiling:,.0f} jobs/s, in turn; naive: count and reap at once"
    return Figures(about, tuple(series), tuple(targets))
