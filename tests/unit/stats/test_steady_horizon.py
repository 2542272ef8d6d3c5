"""Who writes in another database is blamed by more than one look, and for longer than one moment."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pgq_ops.checks import horizon_held
from pgq_ops.checks.look import DatabaseLook, Look
from pgq_ops.stats.horizon import Holder, Horizon, oldest_first
from pgq_ops.stats.steady_horizon import KEPT_SECONDS, SteadyHorizon
from tests.unit.checks.test_horizon_held import SESSION, TABLE

ELSEWHERE = replace(SESSION, pid=1, xid_age=5_000, wrote=True, database="shop")
# What runs here meanwhile has a snapshot as old as that.
CLAIM = replace(SESSION, pid=7, name="worker", state="active", seconds=0.001, xid_age=5_000)


@dataclass(slots=True)
class Looks:
    """Looks of an agent, five seconds apart."""

    steady: SteadyHorizon = field(default_factory=SteadyHorizon)
    now: float = 1_000.0

    def look(self, *here: Holder, elsewhere: Holder | None = ELSEWHERE, after: float = 5.0) -> Horizon:
        self.now += after
        there = () if elsewhere is None else (elsewhere,)
        sees = elsewhere is not None and any(one.xid_age == elsewhere.xid_age for one in here)
        holders = oldest_first([*(there if sees else ()), *here])
        found = Horizon(max((one.xid_age for one in holders), default=0), holders, elsewhere=there)
        return self.steady.judged(found, self.now)

    def blamed(self, *here: Holder, elsewhere: Holder | None = ELSEWHERE, after: float = 5.0) -> list[int | None]:
        horizon = self.look(*here, elsewhere=elsewhere, after=after)
        findings = horizon_held.check(Look(TABLE, database=DatabaseLook(horizon, warn_after_seconds=60.0)))
        return [one["pid"] for finding in findings for one in finding.evidence["holders"]]


def test_one_that_a_snapshot_sees_now_and_then_by_chance_is_never_blamed() -> None:
    looks = Looks()
    assert [looks.blamed(*here) for here in ([CLAIM], [], [], [CLAIM], [], [CLAIM], [])] == [[]] * 7


def test_one_that_is_seen_twice_in_a_row_is_blamed_without_a_break_until_it_is_gone() -> None:
    looks = Looks()
    assert looks.blamed(CLAIM) == []
    assert looks.blamed(CLAIM) == [1]
    older = replace(ELSEWHERE, xid_age=9_000)
    assert [looks.blamed(elsewhere=older, after=60) for _ in range(4)] == [[1]] * 4
    assert looks.look(elsewhere=older).age_xids == 9_000
    assert looks.blamed(replace(CLAIM, xid_age=9_000), elsewhere=older) == [1]
    assert looks.blamed(elsewhere=older, after=KEPT_SECONDS - 1) == [1], "seen once again it is kept for as long again"
    assert looks.blamed(elsewhere=None) == []


def test_one_that_no_snapshot_has_to_see_any_more_is_blamed_no_longer_after_five_minutes() -> None:
    looks = Looks()
    looks.look(CLAIM)
    looks.look(CLAIM)
    assert looks.blamed(after=KEPT_SECONDS - 1) == [1]
    assert looks.blamed(after=1) == []
    assert looks.blamed(CLAIM) == [], "and it is by chance again"


def test_what_only_sees_one_that_is_not_blamed_is_not_blamed_in_its_place() -> None:
    looks = Looks()
    long_statement = replace(CLAIM, seconds=7_200.0)
    horizon = looks.look(long_statement)
    assert (horizon.age_xids, horizon.holders) == (0, ())
    unseen = replace(CLAIM, state="", seconds=None, xid_age=200_000)
    assert Looks().blamed(unseen, elsewhere=replace(ELSEWHERE, xid_age=200_000)) == []


def test_one_that_keeps_its_snapshot_or_writes_here_is_told_at_once() -> None:
    kept, writing = replace(SESSION, pid=8, xid_age=5_000), replace(CLAIM, pid=9, seconds=70.0, wrote=True)
    assert Looks().blamed(kept, writing) == [9, 8]
    assert Looks().blamed(replace(CLAIM, seconds=70.0, xid_age=6_000)) == [7]


def test_another_transaction_of_the_same_session_begins_anew_and_one_look_is_enough_where_there_is_but_one() -> None:
    looks = Looks()
    looks.look(CLAIM)
    assert looks.blamed(CLAIM, elsewhere=replace(ELSEWHERE, started="2.000000")) == []
    assert Looks(SteadyHorizon(looks=1)).blamed(CLAIM) == [1]
