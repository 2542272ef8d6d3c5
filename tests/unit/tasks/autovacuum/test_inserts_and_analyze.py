"""When autovacuum comes for inserted rows alone, and to analyze."""

from __future__ import annotations

import pytest

from pgq_ops.tasks.autovacuum.basis import Basis
from tests.support.tuning import changed, churn, health, plan, wanted

INSERTS, ANALYZE = "autovacuum_vacuum_insert_threshold", "autovacuum_analyze_threshold"
MANY = health(10_000_000)


@pytest.mark.parametrize(
    ("inserted", "updated", "rows"),
    [
        (0.0, 0.0, "1000"),
        (1.6, 0.0, "1000"),  # 960
        (1.8, 0.0, "1000"),  # 1,080
        (2.0, 0.0, "1200"),
        (155.0, 310.0, "93000"),
        (2.0, 310.0, "5000"),  # never before the dead rows call for a visit
        (10.0, 310.0, "6000"),
    ],
)
def test_inserts_call_for_one_visit_in_ten(inserted: float, updated: float, rows: str) -> None:
    planned = plan(basis=Basis(churn(updated, inserted=inserted)))
    assert changed(planned)[INSERTS] == rows
    assert changed(planned)["autovacuum_vacuum_insert_scale_factor"] == "0"


@pytest.mark.parametrize(
    ("inserted", "updated", "leaf", "rows"),
    [
        (0.0, 0.0, MANY, "500"),
        (0.5, 0.3, MANY, "500"),  # 480
        (0.5, 0.5, MANY, "600"),
        (155.0, 310.0, MANY, "270000"),  # 279,000
        (155.0, 310.0, health(1_000_000), "100000"),  # no later than 50 + 0.1 x rows
        (155.0, 310.0, health(1_000), "500"),
    ],
)
def test_analyze_comes_at_one_visit_in_ten_and_no_later_than_without(
    inserted: float, updated: float, leaf: object, rows: str
) -> None:
    planned = plan(basis=Basis(churn(updated, inserted=inserted)), of=leaf)  # type: ignore[arg-type]
    assert changed(planned)[ANALYZE] == rows
    assert changed(planned)["autovacuum_analyze_scale_factor"] == "0"


def test_the_reasons_are_in_numbers() -> None:
    planned = plan(basis=Basis(churn(310, inserted=155)), of=health(1_000_000))
    assert wanted(planned, INSERTS).reason == "155 inserts/s × 600 s, so that inserts alone call for one visit in 10"  # noqa: RUF001
    assert wanted(planned, ANALYZE).reason == (
        "465 changes/s × 600 s = 279,000, and no later than by 50 + 0.1 × 1,000,000 rows = 100,050"  # noqa: RUF001
    )


def test_without_churn_both_are_the_smallest() -> None:
    for planned in (plan(), plan(closed=True)):
        assert (changed(planned)[INSERTS], changed(planned)[ANALYZE]) == ("1000", "500")
