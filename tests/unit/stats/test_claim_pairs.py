"""Which looks at the claim tell what dead rows cost it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pgq_ops.stats.claim_cost import ClaimCost, ClaimPlan
from pgq_ops.stats.claim_pairs import KEPT_SECONDS, ClaimPairs
from pgq_ops.stats.horizon import Holder, Horizon
from pgq_ops.stats.table_health import TableHealth
from tests.unit.stats.test_vacuum_watch import LEAF

PLAN = ClaimPlan("Index Scan using jobs_pending", indexes=("jobs_pending",), scans=(("jobs", "jobs_pending"),))


def claim(buffers: int | None = 9, **plan: Any) -> ClaimCost:
    return ClaimCost(buffers, 0.001, replace(PLAN, **plan))


def health(at: float = 0, **dead_rows: int | None) -> TableHealth:
    leaves = [replace(LEAF, oid=oid, name=name, dead_rows=dead) for oid, (name, dead) in enumerate(dead_rows.items())]
    return TableHealth(tuple(leaves), at=at)


def pairs(found: TableHealth, cost: ClaimCost | None) -> tuple[tuple[int, int], ...]:
    noted = ClaimPairs()
    noted.look(found, cost)
    return noted.pairs()


def test_a_pair_is_of_the_dead_rows_and_the_pages_of_one_collection() -> None:
    assert pairs(health(jobs=1_200), claim(9)) == ((1_200, 9),)


def test_dead_rows_of_partitions_that_the_claim_does_not_read_are_not_in_its_way() -> None:
    found = health(jobs_1=100_000, jobs_2=300, jobs_3=20)
    read = (("jobs_2", "jobs_2_pending"), ("jobs_3", "jobs_3_pending"))
    assert pairs(found, claim(9, scans=read)) == ((320, 9),)
    assert pairs(health(jobs_1=None, jobs_2=300, jobs_3=20), claim(9, scans=read)) == ((320, 9),)
    assert pairs(health(jobs_1=5, jobs_2=None, jobs_3=20), claim(9, scans=read)) == ()


def test_claims_that_go_by_no_index_or_were_not_measured_tell_nothing() -> None:
    found = health(jobs=1_200)
    assert pairs(found, None) == ()
    assert pairs(found, claim(None)) == ()
    assert pairs(found, ClaimCost(None, None, None, timed_out=True, timeout_seconds=0.1)) == ()
    assert pairs(found, claim(9, sorts=True)) == ()
    assert pairs(found, claim(9, indexes=(), scans=(("jobs", ""),), scans_table=True)) == ()
    assert pairs(found, claim(9, scans=(("gone", "gone_pending"),))) == ()


@pytest.mark.parametrize(("seconds", "told"), [(59.9, True), (60.0, False), (None, True)])
def test_while_the_horizon_is_held_claims_cost_what_no_vacuum_can_help(seconds: float | None, told: bool) -> None:  # noqa: FBT001
    holder = Holder("backend", 7, "report", "bi", "idle in transaction", seconds, 900, "SELECT 1;")
    noted = ClaimPairs()
    noted.look(health(jobs=1_200), claim(9), Horizon(900, (holder,)))
    assert noted.pairs() == (((1_200, 9),) if told else ())


def test_pairs_are_kept_for_an_hour_and_in_order() -> None:
    noted = ClaimPairs()
    for at in (0, 1_800, 3_600):
        noted.look(health(at, jobs=at), claim(3))
    assert noted.pairs() == ((0, 3), (1_800, 3), (3_600, 3))
    noted.look(health(KEPT_SECONDS + 1), None)
    assert noted.pairs() == ((1_800, 3), (3_600, 3))


def test_a_clock_that_was_set_back_leaves_no_pair_of_the_future() -> None:
    noted = ClaimPairs()
    noted.look(health(5_000, jobs=1), claim(3))
    noted.look(health(1_000, jobs=2), claim(4))
    assert noted.pairs() == ((2, 4),)


def test_there_are_never_more_than_some_hundred() -> None:
    noted = ClaimPairs()
    for at in range(0, 3_600, 5):
        noted.look(health(at, jobs=at), claim(3))
    assert len(noted.pairs()) == 240
    assert noted.pairs()[-1] == (3_595, 3)
