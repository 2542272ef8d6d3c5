from __future__ import annotations

from pgq_ops.demo.summary import RecoveryTimes


def test_no_recovery_has_no_times() -> None:
    assert RecoveryTimes.of([]) is None


def test_one_recovery_is_its_own_median_and_maximum() -> None:
    assert RecoveryTimes.of([0.4]) == RecoveryTimes(0.4, 0.4, 0.4)


def test_many_recoveries_are_told_by_their_middle_their_tail_and_their_longest() -> None:
    assert RecoveryTimes.of([float(number) for number in range(101)]) == RecoveryTimes(50.0, 95.0, 100.0)
