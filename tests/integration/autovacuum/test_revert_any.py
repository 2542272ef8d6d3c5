"""Whatever a table's parameters are, and whatever is applied in whatever order, a revert brings back what was there."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.storage import Storage, made, options

if TYPE_CHECKING:
    from tests.support.database import Database

VALUES = {
    "autovacuum_vacuum_threshold": ["50", "0x10", "5000"],
    "autovacuum_vacuum_scale_factor": ["0", "0.0", "1e-2", ".5"],
    "autovacuum_vacuum_cost_delay": ["0", "2.50"],
    "autovacuum_analyze_threshold": ["100"],
    "vacuum_truncate": ["on", "false", "0"],
    "vacuum_index_cleanup": ["auto", "off"],
}
OTHERS = {"fillfactor": ["70", "100"], "autovacuum_enabled": ["off"], "parallel_workers": ["2"]}
OURS = {
    "autovacuum_vacuum_threshold": ["500", "600"],
    "autovacuum_vacuum_scale_factor": ["0"],
    "vacuum_truncate": ["off"],
    "vacuum_index_cleanup": ["on"],
}
TOASTED = ("autovacuum_vacuum_threshold", "autovacuum_vacuum_scale_factor", "vacuum_truncate")


def some_of(known: dict[str, list[str]], prefix: str = "") -> st.SearchStrategy[dict[str, str]]:
    """Some of the parameters, in any order, with any of their values."""
    pair = st.sampled_from([(f"{prefix}{name}", value) for name, values in known.items() for value in values])
    return st.lists(pair, unique_by=lambda one: one[0]).map(dict)


def both(own: dict[str, list[str]], toasted: dict[str, list[str]]) -> st.SearchStrategy[dict[str, str]]:
    return st.tuples(some_of(own), some_of(toasted, "toast.")).map(lambda parts: parts[0] | parts[1])


INITIAL = both(VALUES | OTHERS, {name: VALUES[name] for name in TOASTED} | {"autovacuum_enabled": ["off"]})
APPLIED = st.lists(both(OURS, {name: OURS[name] for name in TOASTED}), min_size=1, max_size=4)


@pytest.fixture
def storage(database: Database) -> Storage:
    return made(database)


@given(initial=INITIAL, applied=APPLIED, one_by_one=st.none() | st.integers(0, 99))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_revert_brings_back_what_was_there(
    storage: Storage, initial: dict[str, str], applied: list[dict[str, str]], one_by_one: int | None
) -> None:
    database = storage.database
    reset = ", ".join([*VALUES, *OTHERS, *(f"toast.{name}" for name in (*TOASTED, "autovacuum_enabled"))])
    database.execute(f"ALTER TABLE jobs RESET ({reset})")
    if initial:
        listed = ", ".join(f"{name} = '{value}'" for name, value in initial.items())
        database.execute(f"ALTER TABLE jobs SET ({listed})")
    before = options(database)
    for wanted in applied:
        storage.apply(wanted=wanted)
    if one_by_one is None:
        storage.revert()
    else:
        parameters = [parameter for _, parameter, *_ in storage.kept()]
        Random(one_by_one).shuffle(parameters)
        for parameter in parameters:
            storage.revert([parameter])
    assert options(database) == before
    assert storage.kept() == []
