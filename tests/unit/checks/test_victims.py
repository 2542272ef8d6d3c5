"""Who waits for a lock is not blamed for its open transaction, nor for what it keeps VACUUM from meanwhile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest

from pgq_ops.checks import horizon_held, long_transactions
from pgq_ops.checks.accountable import accountable
from pgq_ops.checks.look import DatabaseLook, Look
from pgq_ops.stats.blocking import Blocker, Blocking, Waiter
from pgq_ops.stats.horizon import Holder, Horizon
from pgq_ops.stats.transactions import Transaction, Transactions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.job_table.table import JobTable

LIMIT = 60.0
GUILTY = Transaction(1, "1.0", "migration", "app", "", "idle in transaction", 300.0, 10.0, 5_000, superuser=False)
END = Blocker(1, "migration", "app", "idle in transaction", 300.0, frozenset(), "end 1", "1.0")


def transaction(pid: int, seconds: float) -> Transaction:
    return replace(GUILTY, pid=pid, application_name="worker", state="active", seconds=seconds, idle_seconds=None)


def waiter(pid: int, seconds: float | None, *blocked_by: int) -> Waiter:
    return Waiter(pid, "worker", "app", seconds, "RowExclusiveLock", "public.jobs", blocked_by or (1,), frozenset())


def holder(pid: int, seconds: float | None, xid_age: int = 5_000) -> Holder:
    return Holder("backend", pid, "worker", "app", "active", seconds, xid_age, f"end {pid}", f"{pid}.0")


def look(
    *waiters: Waiter, sessions: Iterable[Transaction] = (), holders: Iterable[Holder] = (), end: Blocker | None = END
) -> Look:
    held = sorted(holders, key=lambda one: -one.xid_age)
    horizon = Horizon(max((one.xid_age for one in held), default=0), tuple(held))
    blocking = Blocking(waiters, () if end is None else (end,))
    database = DatabaseLook(horizon, Transactions(tuple(sessions)), blocking, LIMIT)
    return Look(cast("JobTable", None), database=database)


@pytest.mark.parametrize(
    ("open_for", "waited", "told"),
    [(200.0, 190.0, False), (200.0, 140.0, False), (200.0, 139.0, True), (200.0, 0.0, True), (200.0, None, False)],
)
def test_who_waits_is_a_long_transaction_only_if_it_was_one_before(
    open_for: float,
    waited: float | None,
    told: bool,  # noqa: FBT001
) -> None:
    found = list(long_transactions.check(look(waiter(2, waited), sessions=[transaction(2, open_for)])))
    assert len(found) == told


def test_of_180_waiting_workers_none_is_named_but_who_is_in_their_way() -> None:
    pids = range(2, 182)
    waiting = [waiter(pid, 90.0) for pid in pids]
    working = replace(GUILTY, state="active", idle_seconds=None)
    sessions = [working, *(transaction(pid, 91.0) for pid in pids)]
    [finding] = long_transactions.check(look(*waiting, sessions=sessions))
    assert finding.summary == "session 1 (migration, user app) has had a transaction open for 5m, and holds vacuum back"
    assert finding.evidence["long"] == 1
    assert finding.remedy == GUILTY.remedy


def test_what_a_waiter_holds_is_put_to_the_account_of_who_is_at_the_end_of_its_chain() -> None:
    seen = look(waiter(2, 90.0), waiter(3, 80.0, 2), holders=[holder(2, 91.0), holder(3, 81.0, 9_000)])
    [finding] = horizon_held.check(seen)
    assert finding.summary == (
        "VACUUM has to keep what died in the last 9,000 transactions, because session 1 (migration, user app) has been"
        " idle in transaction for 5m"
    )
    assert [one["session"] for one in finding.evidence["holders"]] == ["1@1.0"]
    assert finding.remedy == "end 1"


def test_one_that_holds_by_itself_too_is_told_once_as_the_older_of_both() -> None:
    own = replace(holder(1, 300.0), name="migration", state="idle in transaction", xid_age=6_000)
    seen = look(waiter(2, 90.0), holders=[own, holder(2, 91.0, 4_000)])
    assert accountable(seen) == [own]
    seen = look(waiter(2, 90.0), holders=[own, holder(2, 91.0, 7_000)])
    assert accountable(seen) == [replace(own, xid_age=7_000)]


def test_a_prepared_transaction_in_the_way_is_told_as_one() -> None:
    prepared = Blocker(0, "gid", "app", "prepared", 300.0, frozenset(), "ROLLBACK PREPARED 'gid';")
    [told] = accountable(look(waiter(2, 90.0, 0), holders=[holder(2, 91.0)], end=prepared))
    assert (told.kind, told.pid, told.name, told.started) == ("prepared", None, "gid", "")


def test_without_an_end_a_waiter_is_nobody_s_victim_to_be_told_and_who_was_long_before_stays() -> None:
    assert accountable(look(waiter(2, 90.0), holders=[holder(2, 91.0)], end=None)) == []
    long = holder(2, 200.0)
    assert accountable(look(waiter(2, 90.0), holders=[long])) == [long]
    assert accountable(look(holders=[long])) == [long]
