"""The budget of a job table, and a leaf's part of it."""

from __future__ import annotations

import pytest

from pgq_ops.config.maintenance import Autovacuum
from pgq_ops.stats.dead_row_budget import Budget
from pgq_ops.stats.observed import Observed
from pgq_ops.stats.table_health import TableHealth
from pgq_ops.tasks.autovacuum.budget import budget_of, part_of
from tests.support.tuning import churn

WHOLE = Budget(5_000, "because")


def seen(*dying: float | None) -> Observed:
    """Leaves 1, 2, ... where so many rows die a second."""
    churns = {oid: churn(rate) for oid, rate in enumerate(dying, 1) if rate is not None}
    return Observed(TableHealth(()), churns)


@pytest.mark.parametrize(
    ("dying", "rows"),
    [
        ((100.0,), 5_000),
        ((100.0, 0.0), 5_000),
        ((98.0, 2.0), 5_000),
        ((97.0, 3.0), 4_850),
        ((50.0, 50.0), 2_500),
        ((10.0, 90.0), 500),
        ((1.0, 99.0), 500),
        ((0.0, 99.0), 500),
        ((0.0, 0.0), 5_000),
        ((None, 99.0), 5_000),
    ],
)
def test_a_leaf_has_its_share_of_what_dies_and_never_less_than_is_worth_a_vacuum(
    dying: tuple[float | None, ...], rows: int
) -> None:
    assert part_of(WHOLE, seen(*dying), 1).rows == rows


def test_a_part_is_told_as_one() -> None:
    assert part_of(WHOLE, seen(50, 50), 1).reason == "50% of all that dies here, of 5,000; because"
    assert part_of(WHOLE, seen(50), 1).reason == "because"


def test_a_small_budget_is_nobody_s_to_raise() -> None:
    assert part_of(Budget(120, "as configured"), seen(10, 90), 1).rows == 120


def test_what_is_configured_holds_before_what_claims_cost() -> None:
    claims = tuple((dead, 5 + dead // 100) for dead in range(0, 20_000, 250))
    observed = Observed(TableHealth(()), claims=claims)
    assert budget_of(Autovacuum(dead_tuple_budget=1_234), observed) == Budget(1_234, "as configured")
    assert 3_500 <= budget_of(Autovacuum(), observed).rows <= 5_000
    default = budget_of(Autovacuum(), Observed(TableHealth(())))
    assert (default.rows, "only a running agent" in default.reason) == (5_000, True)
