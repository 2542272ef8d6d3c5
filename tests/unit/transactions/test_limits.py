"""From when on sessions are a finding, with rows on both sides of each limit; how a chain of waiters is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from pgq_ops.checks import blocked, idle_in_transaction, long_transactions
from pgq_ops.checks.lock_chain import behind, longest_chain
from pgq_ops.checks.look import DatabaseLook, Look
from pgq_ops.stats.blocking import Blocker, Blocking, Waiter
from pgq_ops.stats.transactions import Transaction, Transactions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pgq_ops.checks.finding import Finding

JOBS = 77


class Table:
    """As much of a job table as these checks ask for."""

    name = "jobs"

    class relation:  # noqa: N801 (as the real one is called)
        oid = JOBS

    def __str__(self) -> str:
        return "public.jobs"


def transaction(pid: int, seconds: float, idle_seconds: float | None, xid_age: int | None = 5) -> Transaction:
    state = "active" if idle_seconds is None else "idle in transaction"
    return Transaction(pid, f"{pid}.000001", "app", "bi", "", state, seconds, idle_seconds, xid_age, superuser=False)


def waiter(
    pid: int, *blocked_by: int, seconds: float | None = 6.0, tables: frozenset[int] = frozenset({JOBS})
) -> Waiter:
    return Waiter(pid, "worker", "app", seconds, "ShareLock", "a row of public.jobs", blocked_by, tables)


def blocker(pid: int) -> Blocker:
    return Blocker(pid, "report", "bi", "idle in transaction", 90.0, frozenset(), f"end {pid}")


def finding(check: Callable[[Look], Iterator[Finding]], **seen: Any) -> Finding | None:
    look = Look(cast("Any", Table()), database=DatabaseLook(**seen))
    return next(check(look), None)


def test_a_transaction_is_long_beyond_warn_after_and_not_at_it() -> None:
    for seconds, is_found in ((60.0, False), (60.1, True)):
        seen = Transactions((transaction(1, seconds, None),))
        assert (finding(long_transactions.check, transactions=seen) is not None) == is_found
        assert (finding(long_transactions.check, transactions=seen, warn_after_seconds=3_600) is not None) is False


def test_a_session_is_idle_beyond_warn_after_and_not_at_it() -> None:
    for seconds, is_found in ((60.0, False), (60.1, True)):
        seen = Transactions((transaction(1, 600.0, seconds),))
        assert (finding(idle_in_transaction.check, transactions=seen) is not None) == is_found
        # Until it has been idle for long it is a long transaction like any other, and after that only idle.
        assert (finding(long_transactions.check, transactions=seen) is not None) != is_found


@pytest.mark.parametrize("check", [long_transactions.check, idle_in_transaction.check, blocked.check])
def test_what_was_not_seen_is_no_finding(check: Callable[[Look], Iterator[Finding]]) -> None:
    blind = Transactions((transaction(1, 600.0, 600.0), transaction(2, 600.0, None)), visible=False)
    assert finding(check) is None
    assert finding(check, transactions=blind) is None


def test_of_many_sessions_ten_are_listed_and_all_are_counted() -> None:
    seen = Transactions(tuple(transaction(pid, 1_000.0 - pid, None) for pid in range(1, 15)))
    found = finding(long_transactions.check, transactions=seen)
    assert found is not None
    assert (found.evidence["long"], len(found.evidence["sessions"]), len(found.remedy.splitlines())) == (14, 10, 10)
    assert found.remedy.splitlines()[0] == "pgq-ops transactions end --yes 1@1.000001"
    assert found.summary.endswith("; 13 others for more than 1m")


def test_a_wait_is_a_finding_beyond_five_seconds_and_not_at_them() -> None:
    for seconds, is_found in ((None, False), (5.0, False), (5.1, True)):
        seen = Blocking((waiter(1, 9, seconds=seconds),), (blocker(9),))
        assert (finding(blocked.check, blocking=seen) is not None) == is_found


def test_one_that_waits_elsewhere_is_no_finding_of_this_table() -> None:
    seen = Blocking((waiter(1, 9, tables=frozenset({JOBS + 1})),), (blocker(9),))
    assert finding(blocked.check, blocking=seen) is None


def test_of_a_long_chain_the_ends_are_named_and_the_middle_is_counted() -> None:
    chain = [waiter(pid, pid + 1) for pid in range(1, 8)]
    found = finding(blocked.check, blocking=Blocking(tuple(chain), (*map(blocker, range(2, 9)),)))
    assert found is not None
    assert (
        "session 2 (worker, user app), which waits for a row of public.jobs (ShareLock) behind 4 more sessions"
        in found.summary
    )
    assert "behind session 7 (worker" in found.summary
    assert "behind session 8 (report, user bi), which is idle in transaction" in found.summary
    assert [one["pid"] for one in found.evidence["chain"]] == list(range(1, 8))
    assert found.remedy == "end 8"


def test_a_chain_is_the_shortest_way_out_of_whoever_is_furthest_from_the_end() -> None:
    seen = Blocking((waiter(1, 9), waiter(2, 9, 1), waiter(3, 2, 1), waiter(4, 3)))
    assert longest_chain(seen, seen.waiters) == (4, 3, 1, 9)
    assert (behind(seen, 9), behind(seen, 3), behind(seen, 4)) == (4, 1, 0)


def test_a_deadlock_that_the_server_has_not_ended_yet_is_told_without_an_end() -> None:
    seen = Blocking((waiter(1, 2), waiter(2, 1)), (blocker(1), blocker(2)))
    assert longest_chain(seen, seen.waiters) == (1,)
    found = finding(blocked.check, blocking=seen)
    assert found is not None
    assert (found.evidence["end"], found.remedy) == (None, "")
