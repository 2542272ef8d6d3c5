"""After how many dead rows autovacuum is to come: churn x naptime, between 500 and the budget."""

from __future__ import annotations

import pytest

from pgq_ops.tasks.autovacuum.basis import Basis
from tests.support.tuning import changed, churn, health, plan, wanted

THRESHOLD, SCALE = "autovacuum_vacuum_threshold", "autovacuum_vacuum_scale_factor"


@pytest.mark.parametrize(
    ("updated", "deleted", "naptime", "rows"),
    [
        (0.0, 0.0, 60, "500"),
        (8.3, 0.0, 60, "500"),  # 498
        (8.6, 0.0, 60, "510"),  # 516
        (50.0, 0.0, 60, "3000"),
        (40.0, 10.0, 60, "3000"),
        (83.0, 0.0, 60, "4900"),  # 4,980
        (84.0, 0.0, 60, "5000"),  # 5,040
        (310.0, 0.0, 60, "5000"),
        (310.0, 0.0, 10, "3100"),
        (310.0, 0.0, 1, "500"),
    ],
)
def test_it_is_what_dies_between_two_visits_within_bounds(
    updated: float, deleted: float, naptime: float, rows: str
) -> None:
    planned = plan(basis=Basis(churn(updated, deleted=deleted)), naptime=naptime)
    assert changed(planned)[THRESHOLD] == rows
    assert changed(planned)[SCALE] == "0"


def test_the_reason_is_in_numbers() -> None:
    basis = Basis(churn(310), budget_reason="claims read 50 pages then")
    assert wanted(plan(basis=basis), THRESHOLD).reason == (
        "310 updates/s × 60 s naptime = 18,600, capped by a budget of 5,000 dead rows (claims read 50 pages then)"  # noqa: RUF001
    )
    basis = Basis(churn(50, deleted=0.5))
    assert wanted(plan(basis=basis), THRESHOLD).reason == (
        "(50 updates/s + 0.5 deletes/s) × 60 s naptime, within a budget of 5,000 dead rows"  # noqa: RUF001
    )
    assert wanted(plan(basis=Basis(churn(0.2))), THRESHOLD).reason == (
        "0.2 updates/s × 60 s naptime = 12: 500 is the smallest"  # noqa: RUF001
    )
    assert wanted(plan(of=health(10_000)), SCALE).reason == (
        "else it is 50 + 0.2 × 10,000 rows = 2,050 dead rows, rising with the finished jobs"  # noqa: RUF001
    )


def test_without_churn_it_is_the_smallest_and_no_share_of_the_table() -> None:
    for planned in (plan(), plan(closed=True), plan(closed=True, basis=Basis(churn(310)))):
        assert (changed(planned)[THRESHOLD], changed(planned)[SCALE]) == ("500", "0")
    assert "not measured yet" in wanted(plan(), THRESHOLD).reason
    assert "no new row comes here" in wanted(plan(closed=True), THRESHOLD).reason


@pytest.mark.parametrize(("budget", "rows"), [(20_000, "18000"), (18_600, "18000"), (10_000, "10000"), (777, "770")])
def test_the_budget_caps_it(budget: int, rows: str) -> None:
    assert changed(plan(basis=Basis(churn(310), budget_rows=budget)))[THRESHOLD] == rows


def test_a_budget_below_the_smallest_is_somebody_s_wish_and_holds() -> None:
    assert changed(plan(basis=Basis(churn(310), budget_rows=120, ceiling=120)))[THRESHOLD] == "120"
    assert changed(plan(basis=Basis(budget_rows=120, ceiling=120)))[THRESHOLD] == "120"


def test_an_empty_leaf_without_any_statistics_has_a_plan_too() -> None:
    planned = plan(of=health(-1, live_rows=None, dead_rows=None, lost=True, table_bytes=0), basis=Basis(churn(310)))
    assert changed(planned)[THRESHOLD] == "5000"
