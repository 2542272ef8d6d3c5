"""A run that lasts, a process that was stopped, a task that always fails: what the others notice of it."""

from __future__ import annotations

import signal
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.support.agent import JOBS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.agent import Agent
    from tests.support.database import Database

    Start = Callable[..., Agent]


def acted(database: Database, task: str) -> int:
    return int(database.value("SELECT count(*) FROM acted WHERE task = %s", [task]))


# The ten minutes of the case are three intervals here: how many were missed makes no difference to the timetable.
@pytest.mark.case("A5")
def test_an_agent_that_was_stopped_makes_up_with_one_run(jobs: Database, start: Start) -> None:
    agent = start(jobs.dsn, tasks="leaves", every="2s")
    wait_until(lambda: acted(jobs, "leaves") >= 2)
    agent.signal(signal.SIGSTOP)
    time.sleep(6.5)
    before = acted(jobs, "leaves")
    agent.signal(signal.SIGCONT)
    went_on = jobs.value("SELECT clock_timestamp()")
    wait_until(lambda: acted(jobs, "leaves") >= before + 2, 5)
    gaps = "SELECT extract(epoch FROM at - %s)::float8 FROM acted ORDER BY at OFFSET %s"
    after = [seconds for (seconds,) in jobs.rows(gaps, [went_on, before])]
    assert after[0] < 0.5, "the catch-up comes at once"
    assert sum(seconds < 1.5 for seconds in after) <= 2, "one catch-up, and at most the run that was due just then"
    wait_until(agent.leads)


@pytest.mark.case("A5")
def test_a_task_that_always_raises_is_told_once_and_leaves_the_others_alone(jobs: Database, start: Start) -> None:
    agent = start(jobs.dsn, tasks="raises,leaves", every="300ms")
    wait_until(lambda: acted(jobs, "raises") >= 4)
    wait_until(lambda: acted(jobs, "leaves") >= 4)
    wait_until(lambda: (agent.value("pgqops_task_runs_total", 'task="reaper"', 'outcome="failed"') or 0) >= 4)
    assert agent.value("pgqops_task_runs_total", 'task="reaper"', 'outcome="ok"') == 0
    assert agent.value("pgqops_task_runs_total", 'task="autovacuum"', 'outcome="failed"') == 0
    assert agent.value("pgqops_task_last_success_timestamp_seconds", 'task="reaper"') is None
    assert agent.value("pgqops_task_last_success_timestamp_seconds", 'task="autovacuum"') is not None
    [told] = agent.events("task.failed")
    assert told["error"] == "ValueError: always"
    assert agent.leads()


@pytest.mark.case("A5")
def test_a_table_with_much_to_do_takes_turns_with_the_others_and_never_overlaps_itself(
    jobs: Database, start: Start
) -> None:
    jobs.execute(JOBS.format(name="more"))
    start(jobs.dsn, "jobs", "more", tasks="batches", every="1s")
    # Each batch asks for a next one, without end: only time ends a run, and both tables want all of it.
    wait_until(lambda: acted(jobs, "batches") > 150, 60)
    rows = jobs.rows("SELECT job_table, extract(epoch FROM at)::float8 FROM acted ORDER BY at")
    tables = [table for table, _ in rows]
    turns = sum(one != other for one, other in pairwise(tables))
    assert turns >= 6
    shares = tables.count("jobs"), tables.count("more")
    assert min(shares) > max(shares) / 3
    longest = max(later - earlier for (_, earlier), (_, later) in pairwise(rows))
    assert longest < 1, "what is left of the time is used, as there is more to do"
