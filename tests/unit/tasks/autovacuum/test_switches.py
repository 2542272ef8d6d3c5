"""The indexes are cleaned each time where VACUUM would leave them alone, and the table's end is never cut off."""

from __future__ import annotations

import pytest

from pgq_ops.stats.server_parameters import ServerParameters
from pgq_ops.stats.vacuum_runs import VacuumRuns
from pgq_ops.tasks.autovacuum.basis import Basis
from tests.support.tuning import changed, churn, health, plan, wanted

CLEANUP, TRUNCATE = "vacuum_index_cleanup", "vacuum_truncate"
BUSY = Basis(churn(310))  # 5,000


@pytest.mark.parametrize(("rows", "value"), [(249_000, None), (250_000, "on"), (10_000_000, "on"), (0, None)])
def test_a_big_table_with_a_small_hot_tail_has_its_indexes_cleaned(rows: int, value: str | None) -> None:
    assert changed(plan(basis=BUSY, of=health(rows))).get(CLEANUP) == value


def test_what_the_statistics_count_is_enough_where_the_catalog_knows_of_no_rows() -> None:
    assert changed(plan(basis=BUSY, of=health(-1, live_rows=250_000)))[CLEANUP] == "on"


def test_a_vacuum_that_was_seen_to_skip_them_is_enough() -> None:
    skipped = Basis(churn(310), VacuumRuns(1, skipped_indexes=True))
    assert changed(plan(basis=skipped))[CLEANUP] == "on"
    assert CLEANUP not in changed(plan(basis=Basis(churn(310), VacuumRuns(1, skipped_indexes=False))))


@pytest.mark.parametrize("value", ["auto", "off", "false"])
def test_it_replaces_a_value_that_lets_vacuum_skip_them(value: str) -> None:
    assert changed(plan({CLEANUP: value}, BUSY, health(10_000_000)))[CLEANUP] == "on"


def test_it_stays_when_the_table_shrinks() -> None:
    basis = Basis(churn(310), ours={CLEANUP: "on"}, before={CLEANUP: None})
    assert CLEANUP not in changed(plan({CLEANUP: "on"}, basis))


def test_the_share_is_told() -> None:
    reason = wanted(plan(basis=BUSY, of=health(10_000_000)), CLEANUP).reason
    assert reason.startswith("5,000 dead rows are 0.05% of 10,000,000")


def test_truncation_is_off_unless_the_whole_server_has_it_off() -> None:
    assert changed(plan())[TRUNCATE] == "off"
    assert changed(plan({TRUNCATE: "on"}))[TRUNCATE] == "off"
    off = Basis(parameters=ServerParameters(180000, {TRUNCATE: "off"}))
    assert TRUNCATE not in changed(plan(basis=off))
    assert changed(plan({TRUNCATE: "true"}, off))[TRUNCATE] == "off"


def test_a_closed_leaf_is_left_alone_and_frozen() -> None:
    planned = changed(plan(closed=True, of=health(10_000_000)))
    assert {CLEANUP, TRUNCATE}.isdisjoint(planned)
    assert (planned["autovacuum_freeze_min_age"], planned["autovacuum_freeze_table_age"]) == ("0", "0")
    for closed in (False, None):
        assert not [name for name in changed(plan(closed=closed)) if "freeze" in name]
    own = {"autovacuum_freeze_min_age": "0", "autovacuum_freeze_table_age": "1000"}
    assert "autovacuum_freeze_min_age" not in changed(plan(own, closed=True))
    assert changed(plan(own, closed=True))["autovacuum_freeze_table_age"] == "0"
