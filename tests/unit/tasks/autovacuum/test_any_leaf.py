"""Whatever a leaf has and whatever was measured: bounds, never looser than the DBA, nothing left once it is done."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pgq_ops.stats.churn import Churn
from pgq_ops.stats.server_parameters import ServerParameters
from pgq_ops.stats.vacuum_runs import VacuumRuns
from pgq_ops.tasks.autovacuum.basis import Basis
from pgq_ops.tasks.autovacuum.settable import require_settable
from tests.support.tuning import MEGABYTE, again, applied, health, plan

THRESHOLD, SCALE = "autovacuum_vacuum_threshold", "autovacuum_vacuum_scale_factor"
HIGHEST = "autovacuum_vacuum_max_threshold"

rates = st.floats(0, 20_000)
churns = st.none() | st.builds(Churn, st.just(600.0), rates, rates, rates)
thresholds = st.integers(0, 2_000_000).map(str)
scales = st.floats(0, 1).map(lambda value: f"{value:.4f}")
switches = st.sampled_from(["on", "off", "true", "false", "yes", "0"])
VALUES: dict[str, st.SearchStrategy[str]] = {
    THRESHOLD: thresholds,
    SCALE: scales,
    HIGHEST: st.integers(-1, 2_000_000).map(str),
    "autovacuum_vacuum_insert_threshold": st.integers(-1, 2_000_000).map(str),
    "autovacuum_vacuum_insert_scale_factor": scales,
    "autovacuum_analyze_threshold": thresholds,
    "autovacuum_analyze_scale_factor": scales,
    "autovacuum_vacuum_cost_limit": st.integers(1, 10_000).map(str),
    "autovacuum_vacuum_cost_delay": st.integers(0, 100).map(str),
    "autovacuum_freeze_min_age": st.integers(0, 10**9).map(str),
    "autovacuum_freeze_max_age": st.integers(10**5, 2 * 10**9).map(hex),
    "autovacuum_enabled": switches,
    "vacuum_truncate": switches,
    "vacuum_index_cleanup": switches | st.just("auto"),
    "fillfactor": st.integers(10, 100).map(str),
}
OF_TABLES = ("autovacuum_analyze_threshold", "autovacuum_analyze_scale_factor", "fillfactor")
TOASTED = {f"toast.{name}": values for name, values in VALUES.items() if name not in OF_TABLES}


@st.composite
def owns(draw: st.DrawFn) -> dict[str, str]:
    names = draw(st.sets(st.sampled_from([*VALUES, *TOASTED])))
    version = (VALUES | TOASTED).items()
    return {name: draw(values) for name, values in version if name in names}


leaves = st.builds(
    health,
    st.integers(-1, 10**9).map(float),
    live_rows=st.none() | st.integers(0, 10**9),
    table_bytes=st.integers(1_000, 100_000).map(lambda size: size * MEGABYTE),
    toast_bytes=st.integers(0, 1_000).map(lambda size: size * MEGABYTE),
    updated=st.integers(0, 10**7),
    hot_updated=st.integers(0, 10**5),
    inserted=st.integers(0, 10**7),
)
bases = st.builds(
    Basis,
    churns,
    st.builds(VacuumRuns, st.integers(0, 9), seconds=st.none() | st.floats(0, 5_000)),
    st.integers(500, 50_000),
    ceiling=st.sampled_from([math.inf, 50_000.0]),
    parameters=st.builds(ServerParameters, st.sampled_from([140000, 170000, 180000, 190000])),
)
cases = st.tuples(
    owns(), bases, leaves, st.sampled_from([True, False, None]), st.floats(1, 600) | st.floats(600, 2_000_000)
)


def due(own: dict[str, str], rows: float, *, highest: bool) -> float:
    """PostgreSQL's own formula (autovacuum.c)."""
    at = float(own.get(THRESHOLD, 50)) + float(own.get(SCALE, 0.2)) * max(rows, 0)
    most = float(own.get(HIGHEST, -1))
    return min(at, most) if highest and most >= 0 else at


def of_version(own: dict[str, str], basis: Basis) -> dict[str, str]:
    """Without what the version does not have."""
    lacking = () if basis.parameters.version >= 180000 else (HIGHEST, f"toast.{HIGHEST}")
    return {name: value for name, value in own.items() if name not in lacking}


@settings(max_examples=300, deadline=None)
@given(cases)
def test_bounds_and_never_looser_than_the_dba(case: tuple[Any, ...]) -> None:
    own, basis, leaf, closed, naptime = case
    own = of_version(own, basis)
    planned = plan(own, basis, leaf, naptime=naptime, closed=closed, toast=True)
    highest = basis.parameters.version >= 180000
    after = applied(planned, basis)[0].parameters
    [threshold] = [one for one in planned.wanted if one.parameter == THRESHOLD]
    assert 500 <= float(threshold.value) <= basis.budget_rows
    in_force = due(dict(after), leaf.rows, highest=highest)
    assert in_force <= basis.budget_rows
    if {THRESHOLD, SCALE, HIGHEST} & own.keys():
        assert in_force <= due(own, leaf.rows, highest=highest)
    for what, default, share in (("vacuum_insert", 1000, 0.2), ("analyze", 50, 0.1)):
        names = f"autovacuum_{what}_threshold", f"autovacuum_{what}_scale_factor"
        if not set(names) & own.keys() or own.get(names[0]) == "-1":
            continue
        theirs, ours = (
            float(of.get(names[0], default)) + float(of.get(names[1], share)) * max(leaf.rows, 0) for of in (own, after)
        )
        assert ours <= theirs, what
    assert after.get("autovacuum_enabled") == own.get("autovacuum_enabled")
    assert after.get("toast.autovacuum_enabled") == own.get("toast.autovacuum_enabled")
    assert after.get("fillfactor") == own.get("fillfactor")


@settings(max_examples=300, deadline=None)
@given(cases)
def test_planning_again_gives_no_change_and_all_of_it_may_be_set(case: tuple[Any, ...]) -> None:
    own, basis, leaf, closed, naptime = case
    own = of_version(own, basis)
    # What vacuums take is measured anew after a change.
    planned = plan(own, basis, leaf, naptime=naptime, closed=closed, toast=True)
    for one in planned.changes:
        require_settable(one.parameter, one.value)
        assert one.reason
        assert "threshold" not in one.parameter or float(one.value) < 2**31
    parameters = [one.parameter for one in planned.wanted]
    assert len(parameters) == len(set(parameters))
    calm = replace(basis, runs=VacuumRuns())
    assert again(planned, calm, leaf, naptime=naptime).changes == ()


@settings(max_examples=100, deadline=None)
@given(cases, st.floats(0.75, 1.35))
def test_churn_that_changes_by_a_quarter_changes_no_threshold_of_ours(case: tuple[Any, ...], times: float) -> None:
    own, basis, leaf, closed, naptime = case
    calm = replace(basis, runs=VacuumRuns())
    own = {name: value for name, value in own.items() if name not in (THRESHOLD, SCALE, HIGHEST)}
    planned = plan(of_version(own, basis), calm, leaf, naptime=naptime, closed=closed, toast=True)
    if calm.churn is None:
        return
    other = Churn(600.0, *(rate * times for rate in (calm.churn.inserted, calm.churn.updated, calm.churn.deleted)))
    thresholds_ = [
        one
        for one in again(planned, replace(calm, churn=other), leaf, naptime=naptime).changes
        if one.parameter in (THRESHOLD, HIGHEST)
    ]
    assert thresholds_ == []
