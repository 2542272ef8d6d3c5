"""How long a stranded job waits: from the end of its lease, and from the death of the agent that led."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import psycopg

from benchmarks.agent_process import Agent, agent, wait_for
from benchmarks.figures import Figures, Series, Target
from benchmarks.history import statement

if TYPE_CHECKING:
    from benchmarks.stage import Stage

_TABLE = "demo_queue_jobs"
_EVERY_SECONDS = 1.0
# The server was just started, and a job table's workers are given time to renew then.
_REAPER = 'every = "1s"\nsettle = "0s"'
# Few enough at once that no mass expiry is seen in them.
_LEASES = 40
_WATCHED_SECONDS = 20.0
_KILLS = 5
_LOOK_SECONDS = 0.005


def run(stage: Stage) -> Figures:
    """Watch leases end beside one agent, then kill leaders beside followers."""
    with (
        stage.database(stage.scale.rows // 10) as dsn,
        psycopg.connect(dsn, autocommit=True) as admin,
        ExitStack() as agents,
    ):
        leader = agents.enter_context(agent(dsn, _TABLE, reaper=_REAPER))
        leader.until(lambda one: one.leads() == 1, "the agent leads")
        recovered = Series.of(
            "lease end to pending again", "s", _recoveries(admin, stage.scale.seconds(_WATCHED_SECONDS))
        )
        taken_over: list[float] = []
        for _ in range(stage.scale.repetitions(_KILLS)):
            follower = agents.enter_context(agent(dsn, _TABLE, reaper=_REAPER))
            follower.until(Agent.is_ready, "the follower is ready")
            taken_over.append(_takeover(admin, leader))
            leader = follower
    after = Series.of("leader killed to the next one's first job taken back", "s", taken_over)
    targets = (
        Target(f"longest {recovered.name}", max(recovered.values), _EVERY_SECONDS + 0.5, "s"),
        Target(f"longest {after.name}", max(after.values), 5, "s"),
    )
    return Figures(
        f"reaper.every {_EVERY_SECONDS:.0f} s, looked at every {_LOOK_SECONDS} s", (recovered, after), targets
    )


def _recoveries(admin: psycopg.Connection[Any], seconds: float) -> list[float]:
    """Seconds from the end of each lease until its job was seen to be pending."""
    parameters = {"rows": _LEASES, "from_seconds": 1.0, "to_seconds": 1.0 + seconds}
    ends = dict(admin.execute(statement("insert_leases"), parameters).fetchall())
    waited: list[float] = []
    deadline = time.monotonic() + seconds + 30
    while ends:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(ends)} jobs were not taken back")
        for job, now in admin.execute(statement("list_pending"), {"ids": list(ends)}).fetchall():
            waited.append(now - ends.pop(job))
        time.sleep(_LOOK_SECONDS)
    return waited


def _takeover(admin: psycopg.Connection[Any], leader: Agent) -> float:
    """Seconds from the kill until a job that expired meanwhile is pending."""
    leader.process.kill()
    began = time.perf_counter()
    leader.process.wait()
    parameters = {"rows": 1, "from_seconds": -1.0, "to_seconds": -1.0}
    [(job, _)] = admin.execute(statement("insert_leases"), parameters).fetchall()
    wait_for(
        lambda: bool(admin.execute(statement("list_pending"), {"ids": [job]}).fetchall()),
        "the next agent acts",
        every=_LOOK_SECONDS,
    )
    return time.perf_counter() - began
