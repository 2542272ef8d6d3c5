"""What the DBA chose for the table is left where it is stricter, and is replaced where it is not."""

from __future__ import annotations

import pytest

from pgq_ops.stats.server_parameters import ServerParameters
from pgq_ops.tasks.autovacuum.basis import Basis
from tests.support.tuning import V17, V18, again, changed, churn, health, plan, wanted

THRESHOLD, SCALE = "autovacuum_vacuum_threshold", "autovacuum_vacuum_scale_factor"
HIGHEST = "autovacuum_vacuum_max_threshold"
BUSY = Basis(churn(310), parameters=V17)  # 5,000


@pytest.mark.parametrize(
    ("own", "kept"),
    [
        ({THRESHOLD: "4999", SCALE: "0"}, True),
        ({THRESHOLD: "5001", SCALE: "0"}, False),
        ({THRESHOLD: "100"}, True),  # 100 + 0.2 x 10,000
        ({THRESHOLD: "3000"}, False),
        ({SCALE: "0.4"}, True),  # 4,050
        ({SCALE: "0.5"}, False),
        ({SCALE: "0.0"}, True),
        ({THRESHOLD: "0x64", SCALE: "1e-3"}, True),
    ],
)
def test_it_is_compared_by_what_it_comes_to_at_this_size(own: dict[str, str], kept: bool) -> None:  # noqa: FBT001
    planned = plan(own, BUSY, health(10_000))
    if kept:
        assert {THRESHOLD, SCALE}.isdisjoint(changed(planned))
        assert "the table's own is stricter" in wanted(planned, THRESHOLD).keeps
    else:
        assert (changed(planned)[THRESHOLD], wanted(planned, SCALE).value) == (
            "5000",
            own.get(SCALE, "0").replace("0.5", "0"),
        )
        assert wanted(planned, THRESHOLD).keeps == ""


def test_as_strict_as_ours_is_no_change_however_it_is_written() -> None:
    planned = plan({THRESHOLD: "5000.0", SCALE: "0.00", "vacuum_truncate": "no", "vacuum_index_cleanup": "TRUE"}, BUSY)
    assert {THRESHOLD, SCALE, "vacuum_truncate", "vacuum_index_cleanup"}.isdisjoint(changed(planned))
    assert not [one for one in planned.wanted if one.keeps]


def test_from_18_on_a_share_that_would_outgrow_ours_is_capped_instead() -> None:
    basis = Basis(churn(310), parameters=V18)
    for rows in (1_000, 10_000_000):
        planned = plan({SCALE: "0.01"}, basis, health(rows))
        assert changed(planned)[HIGHEST] == "5000"
        assert {THRESHOLD, SCALE}.isdisjoint(changed(planned))
        assert {HIGHEST, THRESHOLD, SCALE}.isdisjoint(changed(again(planned, basis, health(rows * 10))))
    planned = plan({SCALE: "0.01", HIGHEST: "4000"}, basis, health(10_000_000))
    assert {THRESHOLD, SCALE, HIGHEST}.isdisjoint(changed(planned))
    planned = plan({SCALE: "0.01", HIGHEST: "400000"}, basis, health(10_000_000))
    assert changed(planned)[HIGHEST] == "5000"
    planned = plan({THRESHOLD: "6000", SCALE: "0.01"}, basis)
    assert (changed(planned)[THRESHOLD], changed(planned)[SCALE]) == ("5000", "0")
    assert HIGHEST not in changed(planned)


def test_before_18_nothing_is_capped() -> None:
    planned = plan({SCALE: "0.01"}, BUSY, health(10_000_000))
    assert (changed(planned)[THRESHOLD], changed(planned)[SCALE]) == ("5000", "0")
    assert HIGHEST not in {one.parameter for one in planned.wanted}


def test_once_ours_is_set_it_follows_a_table_that_shrank_below_the_dba_s_own() -> None:
    planned = plan({SCALE: "0.01"}, BUSY, health(10_000_000))
    smaller = again(planned, BUSY, health(10_000))
    assert changed(smaller)[THRESHOLD] == "150"
    assert "as strict as the table's own before" in wanted(smaller, THRESHOLD).reason
    assert SCALE not in changed(smaller)
    assert changed(again(planned, BUSY, health(0)))[THRESHOLD] == "50"


def test_a_threshold_for_all_of_the_server_is_a_choice_and_a_share_is_none() -> None:
    strict = ServerParameters(170000, {THRESHOLD: "200", SCALE: "0"}, frozenset({THRESHOLD, SCALE}))
    planned = plan({}, Basis(churn(310), parameters=strict))
    assert THRESHOLD not in changed(planned)
    assert "the server's own is stricter: 200" in wanted(planned, THRESHOLD).keeps
    share = ServerParameters(170000, {THRESHOLD: "50", SCALE: "0.01"}, frozenset({SCALE}))
    planned = plan({}, Basis(churn(310), parameters=share))
    assert (changed(planned)[THRESHOLD], changed(planned)[SCALE]) == ("5000", "0")


def test_inserts_and_analyze_are_kept_likewise() -> None:
    own = {
        "autovacuum_vacuum_insert_threshold": "700",
        "autovacuum_vacuum_insert_scale_factor": "0",
        "autovacuum_analyze_threshold": "100",
        "autovacuum_analyze_scale_factor": "0",
    }
    assert own.keys().isdisjoint(changed(plan(own, BUSY)))
    looser = {name: value and "9000000" for name, value in own.items() if "threshold" in name}
    assert looser.keys() <= changed(plan(looser, BUSY)).keys()


@pytest.mark.parametrize("value", ["off", "false", "no", "0"])
def test_whether_autovacuum_is_on_is_never_touched(value: str) -> None:
    own = {"autovacuum_enabled": value, "toast.autovacuum_enabled": value}
    planned = plan(own, BUSY, toast=True)
    assert not [one for one in planned.wanted if one.parameter.endswith("autovacuum_enabled")]
    said = [one.text for one in planned.advice if "never switches it on" in one.text]
    assert [text.startswith("autovacuum is off for the TOAST table") for text in said] == [False, True]
    assert not [one for one in plan({"autovacuum_enabled": "on"}, toast=True).advice if "never switches" in one.text]


def test_inserts_that_somebody_wants_no_visit_for_call_for_none() -> None:
    for basis, own in (
        (BUSY, {"autovacuum_vacuum_insert_threshold": "-1"}),
        (Basis(churn(310), parameters=ServerParameters(170000, {"autovacuum_vacuum_insert_threshold": "-1"})), {}),
    ):
        planned = plan(own, basis)
        assert not [name for name in changed(planned) if "insert" in name]
        assert "-1" in wanted(planned, "autovacuum_vacuum_insert_threshold").keeps
