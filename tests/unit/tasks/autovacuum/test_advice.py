"""What is said beside a plan: things that pgq-ops does not do itself."""

from __future__ import annotations

import pytest

from pgq_ops.tasks.autovacuum.basis import Basis
from tests.support.tuning import churn, health, plan


def said(planned: object, word: str) -> list[tuple[str, str]]:
    return [(one.text, one.statement) for one in planned.advice if word in one.text + one.statement]  # type: ignore[attr-defined]


def test_naptime_is_advised_where_no_threshold_can_keep_to_the_budget() -> None:
    [(text, statement)] = said(plan(basis=Basis(churn(310))), "naptime")
    assert text.startswith("3.7 times the budget of 5,000 dead rows die between two visits of autovacuum (60 s)")
    assert 'vacuum = "when-needed"' in text
    assert statement == "ALTER SYSTEM SET autovacuum_naptime = '16s'; SELECT pg_reload_conf();"
    assert not said(plan(basis=Basis(churn(83))), "naptime")
    assert said(plan(basis=Basis(churn(84))), "naptime")


def test_no_naptime_is_advised_where_the_agent_runs_vacuum_itself() -> None:
    [(text, statement)] = said(plan(basis=Basis(churn(310), vacuums=True)), "when-needed")
    assert text.endswith('so an agent in mode "manage" runs VACUUM itself (vacuum = "when-needed")')
    assert statement == ""


def test_no_naptime_is_advised_that_is_too_short_to_be_any_use() -> None:
    [(_, statement)] = said(plan(basis=Basis(churn(10_000))), "naptime")
    assert "'5s'" in statement
    [(text, statement)] = said(plan(basis=Basis(churn(10_000)), naptime=5), "when-needed")
    assert statement == ""
    assert "10.0 times" in text


@pytest.mark.parametrize(
    ("updated", "inserted", "hot", "own", "advised"),
    [
        (100_000, 20_000, 50_000, {}, "SET (fillfactor = 85)"),
        (100_000, 20_001, 50_000, {}, None),  # no heartbeats to speak of
        (9_999, 0, 5_000, {}, None),  # chance
        (100_000, 20_000, 1_999, {}, None),  # an index stands in the way
        (100_000, 20_000, 2_000, {}, "SET (fillfactor = 85)"),
        (100_000, 20_000, 80_000, {}, None),  # room enough
        (100_000, 20_000, 50_000, {"fillfactor": "100"}, "SET (fillfactor = 85)"),
        (100_000, 20_000, 50_000, {"fillfactor": "90"}, None),
        (100_000, 40_000, 1_999, {"fillfactor": "70"}, "RESET (fillfactor)"),
        (100_000, 40_000, 2_000, {"fillfactor": "70"}, None),
    ],
)
def test_fillfactor_is_advice_with_the_share_of_hot_updates(
    updated: int, inserted: int, hot: int, own: dict[str, str], advised: str | None
) -> None:
    planned = plan(own, of=health(updated=updated, inserted=inserted, hot_updated=hot))
    assert not [one for one in planned.wanted if one.parameter == "fillfactor"]
    found = said(planned, "fillfactor")
    assert [statement for _, statement in found] == ([f'ALTER TABLE "public"."jobs" {advised};'] if advised else [])
    assert all(f"{hot / updated:.0%} of {updated:,} updates were HOT" in text for text, _ in found)


def test_autovacuum_that_is_off_is_told_with_what_would_switch_it_on() -> None:
    [(_, statement)] = said(plan({"autovacuum_enabled": "no"}), "never switches it on")
    assert statement == 'ALTER TABLE "public"."jobs" RESET (autovacuum_enabled);'
    [(_, statement)] = said(plan({"toast.autovacuum_enabled": "false"}, toast=True), "TOAST")
    assert statement == 'ALTER TABLE "public"."jobs" RESET (toast.autovacuum_enabled);'
