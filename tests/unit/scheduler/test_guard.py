from __future__ import annotations

from datetime import timedelta

from pgq_ops.scheduler.guard import RunGuard


def test_the_first_batch_is_never_refused_for_time_and_the_next_is() -> None:
    guard = RunGuard(lambda: True, timedelta(0))
    assert guard()
    assert not guard.out_of_time
    assert not guard()
    assert guard.out_of_time


def test_while_time_lasts_every_batch_may_begin() -> None:
    guard = RunGuard(lambda: True, timedelta(hours=1))
    assert all(guard() for _ in range(5))
    assert not guard.out_of_time


def test_lost_leadership_refuses_the_first_batch_and_is_not_mistaken_for_time() -> None:
    guard = RunGuard(lambda: False, timedelta(0))
    assert not guard()
    assert not guard()
    assert not guard.out_of_time
