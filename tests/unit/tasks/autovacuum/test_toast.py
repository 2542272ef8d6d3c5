"""A TOAST table that outgrew its table gets settings of its own, and loses none that it had from its table."""

from __future__ import annotations

import pytest

from pgq_ops.tasks.autovacuum.basis import Basis
from tests.support.tuning import MEGABYTE, again, changed, churn, health, plan, wanted

THRESHOLD, SCALE = "toast.autovacuum_vacuum_threshold", "toast.autovacuum_vacuum_scale_factor"
BUSY = Basis(churn(310, inserted=155))
# 16 MB of 100,000 rows, and 640 MB of their long values: 327,680 pieces.
LARGE = health(100_000, table_bytes=656 * MEGABYTE, toast_bytes=640 * MEGABYTE)


def toasted(planned: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in planned.items() if name.startswith("toast.")}


def test_it_is_vacuumed_after_the_pieces_of_as_many_rows() -> None:
    planned = plan(basis=BUSY, of=LARGE, toast=True)
    assert toasted(changed(planned)) == {
        THRESHOLD: "16000",
        SCALE: "0",
        "toast.autovacuum_vacuum_insert_threshold": "300000",
        "toast.autovacuum_vacuum_insert_scale_factor": "0",
        "toast.vacuum_truncate": "off",
    }
    assert wanted(planned, THRESHOLD).reason == "640 MB of long values, 3.3 pieces a row: those of 5,000 dead rows"
    assert changed(again(planned, BUSY, LARGE)) == {}


@pytest.mark.parametrize(
    ("heap", "values", "planned"), [(63, 63, False), (64, 64, True), (100, 99, False), (99, 100, True), (1, 0, False)]
)
def test_only_where_values_are_most_of_the_table_and_many(heap: int, values: int, planned: bool) -> None:  # noqa: FBT001
    leaf = health(100_000, table_bytes=(heap + values) * MEGABYTE, toast_bytes=values * MEGABYTE)
    assert bool(toasted(changed(plan(basis=BUSY, of=leaf, toast=True)))) is planned


def test_without_a_toast_table_or_any_known_row_there_is_nothing_to_set() -> None:
    assert not toasted(changed(plan(basis=BUSY, of=LARGE, toast=False)))
    nothing_known = health(-1, live_rows=None, table_bytes=656 * MEGABYTE, toast_bytes=640 * MEGABYTE)
    assert not toasted(changed(plan(basis=BUSY, of=nothing_known, toast=True)))


def test_what_it_had_from_its_table_is_carried_over() -> None:
    own = {"autovacuum_vacuum_cost_limit": "2000", "autovacuum_freeze_max_age": "0x11E1A300", "fillfactor": "70"}
    planned = plan(own, BUSY, LARGE, toast=True)
    carried = toasted(changed(planned))
    assert carried["toast.autovacuum_vacuum_cost_limit"] == "2000"
    assert carried["toast.autovacuum_freeze_max_age"] == "300000000"
    assert "toast.fillfactor" not in carried
    assert changed(again(planned, BUSY, LARGE)) == {}
    closed = changed(plan({}, BUSY, LARGE, toast=True, closed=True))
    assert (closed["autovacuum_freeze_min_age"], closed["toast.autovacuum_freeze_min_age"]) == ("0", "0")


def test_one_with_settings_of_its_own_had_none_from_its_table() -> None:
    own = {"autovacuum_vacuum_cost_limit": "2000", "toast.autovacuum_enabled": "off"}
    carried = toasted(changed(plan(own, BUSY, LARGE, toast=True)))
    assert "toast.autovacuum_vacuum_cost_limit" not in carried
    assert carried[THRESHOLD] == "16000"


def test_one_that_is_off_with_its_table_is_not_switched_on_by_a_setting_of_its_own() -> None:
    assert not toasted(changed(plan({"autovacuum_enabled": "off"}, BUSY, LARGE, toast=True)))
    own = {"autovacuum_enabled": "off", "toast.autovacuum_enabled": "on"}
    assert toasted(changed(plan(own, BUSY, LARGE, toast=True)))


def test_the_dba_s_stricter_value_stays_here_too() -> None:
    own = {THRESHOLD: "2000", SCALE: "0"}
    planned = plan(own, BUSY, LARGE, toast=True)
    assert {THRESHOLD, SCALE}.isdisjoint(changed(planned))
    assert "stricter: 2,000" in wanted(planned, THRESHOLD).keeps
    assert changed(plan({THRESHOLD: "20000", SCALE: "0"}, BUSY, LARGE, toast=True))[THRESHOLD] == "16000"
