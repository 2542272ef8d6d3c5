from __future__ import annotations

import pytest

from pgq_ops.demo.schedule import LEASE, MAX_ATTEMPTS, REAP_EVERY, RECOVERY, SHORTEST_SECONDS, Schedule


@pytest.mark.parametrize("total", [SHORTEST_SECONDS, 12, 30, 600])
@pytest.mark.parametrize("started", [1.0, 9.0])
def test_trouble_ends_before_new_jobs_do_and_both_leave_time_to_drain(total: float, started: float) -> None:
    schedule = Schedule.starting_at(started, total)
    assert started < schedule.trouble_until < schedule.enqueue_until < schedule.give_up_at
    longest = MAX_ATTEMPTS * (LEASE + REAP_EVERY).total_seconds()
    assert schedule.give_up_at - schedule.trouble_until > longest


def test_a_run_that_starts_in_time_is_over_in_time() -> None:
    schedule = Schedule.starting_at(2.0, 30)
    assert schedule.enqueue_until + RECOVERY.total_seconds() < 30
