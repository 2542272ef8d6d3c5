"""What pgq-ops set is left alone while it is nearly right, so that plans do not flap."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pgq_ops.tasks.autovacuum.basis import Basis
from tests.support.tuning import V17, again, applied, changed, churn, health, plan, wanted

THRESHOLD = "autovacuum_vacuum_threshold"
OURS = Basis(churn(50), parameters=V17)  # 3,000


def later(basis: Basis, first: Basis = OURS) -> dict[str, str]:
    """What changes once another basis holds, after `first` was applied."""
    leaf, remembered = applied(plan(basis=first), first)
    return changed(plan(leaf.parameters, replace(basis, ours=remembered.ours, before=remembered.before)))


@pytest.mark.parametrize(
    ("updated", "value"), [(33.4, "2000"), (35.0, None), (50.0, None), (74.9, None), (75.1, "4500"), (310.0, "5000")]
)
def test_a_third_off_is_near_enough(updated: float, value: str | None) -> None:
    assert later(Basis(churn(updated), parameters=V17)).get(THRESHOLD) == value


def test_what_is_kept_says_why() -> None:
    leaf, remembered = applied(plan(basis=OURS), OURS)
    one = wanted(plan(leaf.parameters, replace(remembered, churn=churn(40))), THRESHOLD)
    assert (one.value, one.now, one.differs) == ("2400", "3000", False)
    assert "less than 1.5 times off" in one.keeps


@pytest.mark.parametrize("unknown", [None, churn(0.0)], ids=["not measured", "quiet"])
def test_what_was_measured_stays_while_there_is_nothing_to_measure(unknown: object) -> None:
    assert later(replace(OURS, churn=unknown)) == {}  # type: ignore[arg-type]


def test_a_closed_leaf_gets_the_smallest_all_the_same() -> None:
    leaf, remembered = applied(plan(basis=OURS), OURS)
    assert changed(plan(leaf.parameters, remembered, closed=True))[THRESHOLD] == "500"


def test_a_budget_that_somebody_lowered_holds_at_once_and_a_derived_one_does_not() -> None:
    assert later(replace(OURS, budget_rows=2_900, ceiling=2_900))[THRESHOLD] == "2900"
    assert THRESHOLD not in later(replace(OURS, budget_rows=2_900))
    quiet = Basis(None, budget_rows=2_900, ceiling=2_900, parameters=V17)
    assert later(quiet)[THRESHOLD] == "500"


def test_what_somebody_else_set_since_is_theirs() -> None:
    leaf, remembered = applied(plan(basis=OURS), OURS)
    for value, differs in (("3500", True), ("2500", False)):
        parameters = {**leaf.parameters, THRESHOLD: value}
        assert wanted(plan(parameters, remembered), THRESHOLD).differs is differs


def test_what_somebody_else_removed_since_is_set_again() -> None:
    leaf, remembered = applied(plan(basis=OURS), OURS)
    parameters = {name: value for name, value in leaf.parameters.items() if name != THRESHOLD}
    assert changed(plan(parameters, remembered)) == {THRESHOLD: "3000"}


def test_inserts_never_come_before_dead_rows_do() -> None:
    first = Basis(churn(20, inserted=2), parameters=V17)  # 1,200 and 1,200
    second = replace(first, churn=churn(28, inserted=2))  # 1,600 and 1,600, both near
    assert changed(again(plan(basis=first), second)) == {}
    third = replace(first, churn=churn(33, inserted=2))  # 1,900
    planned = again(plan(basis=first), third)
    assert changed(planned) == {THRESHOLD: "1900", "autovacuum_vacuum_insert_threshold": "1900"}


def test_the_table_s_size_alone_changes_nothing() -> None:
    busy = Basis(churn(310, inserted=155), parameters=V17)
    assert changed(again(plan(basis=busy, of=health(1_000_000)), busy, health(1_300_000))) == {}
