from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from soak.agent import Agent, Counts
from soak.counters import Balance
from soak.final import Final, Taken

KEY = ("lease", "requeued")
# Three jobs taken back in the seconds 10, 20 and 30.
FINAL = Final((), tuple(Taken(second, second, 1, "requeued", second * 1_000_000) for second in (10, 20, 30)))


def of(number: int) -> Counts:
    return Counter({KEY: number})


def agent(asked_at: float, ended_at: float | None) -> Agent:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return Agent(process, 0, asked_at=asked_at, ended_at=ended_at)


def wrong(counted: int, *agents: Agent, undone: int = 0, calm: tuple[int, int] = (0, 0)) -> str:
    balance = Balance(agents, of(counted), of(3), of(calm[0]), of(calm[1]), of(undone))
    return "\n".join(balance.violations({"lease": FINAL}))


def test_counters_and_log_that_agree_are_well() -> None:
    assert wrong(3, agent(15, None)) == ""


@pytest.mark.parametrize(("counted", "is_wrong"), [(2, False), (1, True)])
def test_a_killed_agent_takes_with_it_only_what_came_after_its_last_answer(counted: int, *, is_wrong: bool) -> None:
    killed = agent(asked_at=15, ended_at=25)  # the second of the three jobs alone
    assert ("killed ones took 1" in wrong(counted, killed)) is is_wrong


@pytest.mark.parametrize(("undone", "is_wrong"), [(0, True), (1, False)])
def test_agents_count_nothing_that_did_not_happen_but_for_what_a_crash_undid(undone: int, *, is_wrong: bool) -> None:
    assert ("agents counted 4 requeued, the log has 3" in wrong(4, undone=undone)) is is_wrong


@pytest.mark.parametrize("calm", [(2, 3), (3, 2)])
def test_with_nobody_killed_both_are_equal(calm: tuple[int, int]) -> None:
    assert "with nobody killed agents counted" in wrong(3, calm=calm)
