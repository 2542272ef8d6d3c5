from __future__ import annotations

import itertools
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from pgq_ops.scheduler.timetable import Timetable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHORT = timedelta(milliseconds=50)


@pytest.fixture
def errors() -> list[tuple[str, Exception]]:
    return []


@pytest.fixture
def timetable(errors: list[tuple[str, Exception]]) -> Iterator[Timetable]:
    made = Timetable(("leader", "probes"), lambda name, error: errors.append((name, error)))
    made.start()
    yield made
    made.stop()
    wait_until(lambda: not made.running())


def wait_until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.005)


def test_a_job_runs_at_once_and_then_at_its_interval(timetable: Timetable) -> None:
    at: list[float] = []
    timetable.every(timedelta(milliseconds=200), "look", "leader", lambda: at.append(time.monotonic()))
    begun = time.monotonic()
    wait_until(lambda: len(at) == 3)
    assert at[0] - begun < 0.15
    assert 0.3 < at[2] - at[0] < 0.6


@pytest.mark.case("A5")
def test_a_run_that_outlasts_its_interval_is_never_overlapped_and_what_it_missed_is_not_made_up_for(
    timetable: Timetable,
) -> None:
    go, begun, ended = threading.Event(), [0.0], [0.0]

    def action() -> None:
        assert len(begun) == len(ended), "overlap"
        begun.append(time.monotonic())
        go.wait(5)
        ended.append(time.monotonic())

    timetable.every(SHORT, "slow", "leader", action)
    wait_until(lambda: len(begun) == 2)
    time.sleep(0.5)  # ten intervals: there is no condition for something that must not happen
    assert len(begun) == 2
    go.set()
    wait_until(lambda: len(ended) >= 6)
    gaps = [later - earlier for earlier, later in itertools.pairwise(begun)]
    assert min(gaps) > SHORT.total_seconds() / 2, "missed runs came one after another"


@pytest.mark.case("A5")
def test_a_job_that_always_raises_goes_on_and_leaves_the_others_alone(
    timetable: Timetable, errors: list[tuple[str, Exception]]
) -> None:
    good: list[int] = []

    def broken() -> None:
        raise ValueError("always")

    timetable.every(SHORT, "broken", "leader", broken)
    timetable.every(SHORT, "good", "leader", lambda: good.append(1))
    wait_until(lambda: len(good) >= 4 and len(errors) >= 4)
    assert {(name, str(error)) for name, error in errors} == {("broken", "always")}


def test_one_thread_runs_one_job_at_a_time_and_the_other_thread_does_not_wait_for_it(timetable: Timetable) -> None:
    held, other, third = threading.Event(), threading.Event(), threading.Event()
    timetable.every(timedelta(hours=1), "holds", "leader", lambda: held.wait(5) and None)
    wait_until(lambda: "holds" in timetable.running())
    timetable.every(timedelta(hours=1), "waits", "leader", third.set)
    timetable.every(timedelta(hours=1), "elsewhere", "probes", other.set)
    assert other.wait(2)
    assert not third.is_set()
    held.set()
    assert third.wait(2)


def test_a_job_that_wants_to_run_again_soon_lets_the_others_go_first(timetable: Timetable) -> None:
    order: list[str] = []

    def again() -> float | None:
        order.append("again")
        time.sleep(0.05)  # the other job has the time to line up
        return 0.0 if len(order) < 4 else None

    def other() -> None:
        order.append("other")

    timetable.every(timedelta(hours=1), "again", "leader", again)
    wait_until(lambda: bool(order))
    timetable.every(timedelta(hours=1), "other", "leader", other)
    wait_until(lambda: len(order) >= 4)
    assert order[:3] == ["again", "other", "again"]


def test_after_the_clock_was_set_back_all_jobs_can_be_called_up(timetable: Timetable) -> None:
    runs: list[int] = []
    timetable.every(timedelta(hours=1), "rare", "leader", lambda: runs.append(1))
    wait_until(lambda: len(runs) == 1)
    timetable.all_soon()
    wait_until(lambda: len(runs) == 2)


def test_what_was_dropped_runs_no_more(timetable: Timetable) -> None:
    kept, dropped = [0], [0]

    def keep() -> None:
        kept[0] += 1

    def drop() -> None:
        dropped[0] += 1

    timetable.every(SHORT, "kept", "leader", keep)
    timetable.every(SHORT, "dropped", "leader", drop)
    wait_until(lambda: dropped[0] > 0)
    timetable.drop("dropped")
    wait_until(lambda: not timetable.running())
    before = dropped[0], kept[0]
    wait_until(lambda: kept[0] > before[1] + 3)
    assert dropped[0] <= before[0] + 1, "one may have been on its way"


def test_once_stopped_nothing_begins_that_waited_its_turn() -> None:
    timetable = Timetable(("leader",), lambda _name, _error: None)
    go, late = threading.Event(), threading.Event()
    timetable.start()
    timetable.every(timedelta(hours=1), "holds", "leader", lambda: go.wait(5) and None)
    wait_until(lambda: "holds" in timetable.running())
    timetable.every(timedelta(hours=1), "late", "leader", late.set)
    time.sleep(0.1)  # it lines up behind the other
    timetable.stop()
    go.set()
    wait_until(lambda: not timetable.running())
    assert not late.wait(0.2)
