"""By what each check judges: what it declares is what it reads, and without it finds nothing."""

from __future__ import annotations

import ast
import inspect
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest

from pgq_ops.checks import registry
from pgq_ops.checks.look import DatabaseLook, Look
from pgq_ops.probes.registry import DATABASE_PROBES, PROBES

if TYPE_CHECKING:
    from types import ModuleType

# What each probe leaves for the checks.
READ_BY = {
    "jobs": {"depths"},
    "leases": {"leases"},
    "indexes": {"support"},
    "claim": {"claim"},
    "claim_statements": {"claim_statements"},
    "ready_locked": {"ready_locked"},
    "table": {"health"},
    "index_bloat": {"index_bloat"},
    "leftover_indexes": {"leftover_indexes"},
    "horizon": {"horizon"},
    "transactions": {"transactions", "blocking"},
}
# What only words or the remedy of a finding are made of, or whom else it names, by module: without it, it is there too.
ONLY_TOLD = {
    "claim_plan": {"support", "claim_statements"},
    "claim_timeout": {"support", "health", "horizon", "blocking"},
    "claims_costly": {"blocking"},
    "dead_rows": {"horizon", "blocking"},
    "horizon_held": {"blocking"},
    "missing_indexes": {"health"},
    "ready_locked": {"depths"},
    "wraparound": {"horizon", "blocking"},
}
PARTS = {part for parts in READ_BY.values() for part in parts}
MODULES: list[ModuleType] = list(registry._MODULES)  # the list that the checks are made of
NAMES = [module.__name__.rpartition(".")[2] for module in MODULES]


def needed(module: ModuleType) -> set[str]:
    return {part for probe in module.NEEDS for part in READ_BY[probe]}


def test_every_part_of_a_look_is_left_by_a_probe_and_every_need_is_a_probe() -> None:
    own = {"table", "reaping", "reaping_seconds", "news", "upkeep", "best_claim", "database", "section"}
    own |= {"warn_after_seconds"}
    assert {one.name for kind in (Look, DatabaseLook) for one in fields(kind)} - own == PARTS
    probes = {probe.name for probe in (*PROBES, *DATABASE_PROBES)}
    assert set(READ_BY) <= probes
    assert {probe for module in MODULES for probe in module.NEEDS} <= probes
    assert set(registry.NEEDS) == registry.IDS


@pytest.mark.parametrize("module", MODULES, ids=NAMES)
def test_without_what_it_needs_a_check_finds_nothing(module: ModuleType) -> None:
    """Whatever else there is. Of a check that judges by several it must hold without all of them."""
    if not module.NEEDS:
        pytest.skip("it judges by what no probe reads")
    missing = needed(module)
    there: dict[str, Any] = {part: None if part in missing else MagicMock() for part in PARTS}
    shared = {part: there.pop(part) for part in ("horizon", "transactions", "blocking")}
    look = replace(Look(MagicMock(), **there), database=DatabaseLook(**shared))
    assert list(module.check(look)) == []


@pytest.mark.parametrize("module", MODULES, ids=NAMES)
def test_a_check_reads_nothing_that_it_has_not_declared(module: ModuleType) -> None:
    told = ONLY_TOLD.get(module.__name__.rpartition(".")[2], set())
    assert read_in(module) - told <= needed(module)


def test_what_is_judged_by_a_probe_that_failed_is_not_known_to_be_gone() -> None:
    every = frozenset(READ_BY)
    assert registry.unjudged_by(every) == frozenset()
    assert registry.unjudged_by(every - {"claim_statements"}) == frozenset()
    assert registry.unjudged_by(every - {"leases"}) >= {"not-reaped", "stale-leases", "missing-leases"}
    assert registry.unjudged_by(every - {"leases"}).isdisjoint({"claims-costly", "idle-in-transaction"})
    assert registry.unjudged_by(frozenset()).isdisjoint({"mass-expiry", "dead-letter-cascade"})


def read_in(module: ModuleType, seen: frozenset[str] = frozenset()) -> set[str]:
    """The parts of a look that the module reads, and the functions that it hands the look to."""
    tree = ast.parse(inspect.getsource(module))
    parts = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and is_look(node.value)} & PARTS
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and any(is_look(argument) for argument in node.args):
            for called in handed_to(module, node.func):
                if called.__name__ != module.__name__ and called.__name__ not in seen:
                    parts |= read_in(called, seen | {module.__name__})
    return parts


def is_look(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "database" and is_look(node.value)
    return isinstance(node, ast.Name) and node.id == "look"


def handed_to(module: ModuleType, function: ast.expr) -> list[ModuleType]:
    """The module of checks that a function called here comes from."""
    name = function.value if isinstance(function, ast.Attribute) else function
    found = getattr(module, name.id, None) if isinstance(name, ast.Name) else None
    where = found if inspect.ismodule(found) else inspect.getmodule(found)
    return [where] if where is not None and where.__name__.startswith("pgq_ops.checks.") else []
