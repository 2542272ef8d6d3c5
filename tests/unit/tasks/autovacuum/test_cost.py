"""Vacuums that take too long for the time between them are made faster."""

from __future__ import annotations

import pytest

from pgq_ops.stats.server_parameters import ServerParameters
from pgq_ops.stats.vacuum_runs import VacuumRuns
from pgq_ops.tasks.autovacuum.basis import Basis
from tests.support.tuning import applied, changed, churn, health, plan, wanted

LIMIT, DELAY = "autovacuum_vacuum_cost_limit", "autovacuum_vacuum_cost_delay"


def slow(seconds: float | None, count: int = 9, *, updated: float = 310.0, **server: str) -> Basis:
    return Basis(churn(updated), VacuumRuns(count, seconds=seconds), parameters=ServerParameters(180000, server))


@pytest.mark.parametrize(
    ("seconds", "limit"), [(None, None), (1.0, None), (30.0, None), (31.0, "420"), (60.0, "800"), (900.0, "2000")]
)
def test_the_limit_rises_where_a_vacuum_takes_half_of_the_time(seconds: float | None, limit: str | None) -> None:
    assert changed(plan(basis=slow(seconds))).get(LIMIT) == limit
    assert DELAY not in changed(plan(basis=slow(seconds)))


def test_the_time_is_that_in_which_the_threshold_comes_about() -> None:
    # 500 dead rows at 5 a second: 100 s.
    assert LIMIT not in changed(plan(basis=slow(49.0, updated=5)))
    assert LIMIT in changed(plan(basis=slow(51.0, updated=5)))


def test_one_or_two_vacuums_may_be_chance() -> None:
    assert LIMIT not in changed(plan(basis=slow(60.0, 2)))
    assert LIMIT in changed(plan(basis=slow(60.0, 3)))


def test_the_delay_goes_only_where_the_limit_is_at_its_end() -> None:
    assert changed(plan({LIMIT: "1999"}, slow(60.0)))[LIMIT] == "2000"
    planned = plan({LIMIT: "2000"}, slow(60.0))
    assert (LIMIT in changed(planned), changed(planned)[DELAY]) == (False, "0")
    assert {LIMIT, DELAY}.isdisjoint(changed(plan({LIMIT: "200", DELAY: "0"}, slow(60.0))))


def test_the_server_s_own_values_count_and_autovacuum_s_before_everybody_s() -> None:
    assert changed(plan(basis=slow(60.0, vacuum_cost_limit="400")))[LIMIT] == "1600"
    assert changed(plan(basis=slow(60.0, autovacuum_vacuum_cost_limit="300")))[LIMIT] == "1200"
    assert changed(plan({LIMIT: "-1"}, slow(60.0)))[LIMIT] == "800"
    none = slow(60.0, autovacuum_vacuum_cost_delay="-1", vacuum_cost_delay="0")
    assert {LIMIT, DELAY}.isdisjoint(changed(plan(basis=none)))


def test_the_reason_says_that_the_table_leaves_the_shared_budget() -> None:
    reason = wanted(plan(basis=slow(60.0)), LIMIT).reason
    assert "vacuums take 60 s of the 60 s between them, at 200 points each 2 ms" in reason
    assert "leaves the budget that the server's workers share" in reason


def test_once_vacuums_are_quick_the_limit_stays() -> None:
    leaf, remembered = applied(plan(basis=slow(60.0)), slow(60.0))
    quick = Basis(churn(310), VacuumRuns(9, seconds=5.0), ours=remembered.ours, before=remembered.before)
    assert changed(plan(leaf.parameters, quick, health())) == {}
    assert changed(plan(closed=True, basis=slow(60.0))).get(LIMIT) is None
