"""What the look at the locks returns, at moments that no test can hold still."""

from __future__ import annotations

from typing import Any

from pgq_ops.stats.blocking import Blocking, parsed


def row(pid: int, blocked_by: list[int] | None, *, waits: bool = True, seconds: float | None = 1.0) -> tuple[Any, ...]:
    who = (pid, "app", "bi", "active", 9.0, "1.000001", True, False)
    return (*who, waits, seconds if waits else None, "ShareLock", "public.jobs", blocked_by, [1, 2] if waits else None)


def test_one_that_got_its_lock_meanwhile_waits_no_more_and_its_blocker_is_none() -> None:
    assert parsed([row(1, []), row(2, None, waits=False)]) == Blocking()


def test_one_that_was_not_asked_for_still_waits() -> None:
    [waiter] = parsed([row(1, None)]).waiters
    assert (waiter.blocked_by, waiter.tables) == ((), frozenset({1, 2}))


def test_who_waits_longest_comes_first_and_each_blocker_is_there_once() -> None:
    found = parsed([row(1, [9, 9]), row(2, [9, 1], seconds=5.0), row(3, [9], seconds=None), row(9, None, waits=False)])
    assert [one.pid for one in found.waiters] == [2, 1, 3]
    assert found.waiters[1].blocked_by == (9,)
    assert [one.pid for one in found.blockers] == [1, 9]


def test_one_that_is_no_client_s_gets_a_remedy_that_only_cancels() -> None:
    worker = (5, "", "", "autovacuum worker", 9.0, "1.5", False, False, False, None, None, None, None, None)
    [blocker] = parsed([row(1, [5]), worker]).blockers
    assert blocker.remedy == "SELECT pg_cancel_backend(5);  -- autovacuum worker"
