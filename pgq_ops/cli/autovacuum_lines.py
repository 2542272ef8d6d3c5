"""Says in words what a plan would set, or what was set, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.wording import counted
from pgq_ops.tasks.autovacuum.setting_outcome import SettingFate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.cli.autovacuum_report import Report
    from pgq_ops.tasks.autovacuum.tune_result import TunedLeaf, TuneResult

NOT_DONE = {
    SettingFate.BUSY: "busy, for another time",
    SettingFate.STALE: "changed meanwhile, for another time",
    SettingFate.NOT_PERMITTED: "not permitted",
    SettingFate.REFUSED: "refused by the server",
    SettingFate.SKIPPED: "left out",
    SettingFate.GONE: "left out",
}
"""How each way of not being changed is said."""


def question(plan: Report) -> str:
    """What to ask before the plan is carried out."""
    parts = [
        f"{one.name} ({', '.join(map(str, one.result.with_fate(SettingFate.CHANGED)))})"
        for one in plan.tables
        if one.result is not None and one.result.parameters
    ]
    return f"Set {counted(plan.parameters, 'storage parameter')} of {', '.join(parts)}?"


def lines(report: Report) -> Iterator[str]:
    """The report for people, without what went wrong: that is its failure."""
    for one in report.tables:
        if one.result is not None:
            yield from table_lines(one.name, one.result)


def table_lines(name: str, result: TuneResult) -> Iterator[str]:
    """One job table; leaves of which all the same is to be said are named together."""
    budget = result.budget
    yield name if budget is None else f"{name}: claims can bear {counted(budget.rows, 'dead row')} ({budget.reason})"
    alike: dict[tuple[str, ...], list[TunedLeaf]] = {}
    for one in result.leaves:
        alike.setdefault(tuple(_leaf(one, dry_run=result.dry_run)), []).append(one)
    for said, leaves in alike.items():
        head, *more = said
        yield f"  {', '.join(map(str, leaves))}: {head}"
        yield from (f"    {line}" for line in more)
        statements = [(advice.statement, advice.text) for one in leaves for advice in one.plan.advice]
        for text in dict.fromkeys(text for _, text in statements):
            yield f"    advice: {text}"
            yield from dict.fromkeys(f"      {statement}" for statement, of in statements if of == text and statement)


def _leaf(one: TunedLeaf, *, dry_run: bool) -> Iterator[str]:
    """What is said of a leaf, its name and the advice left out."""
    plan = one.plan
    if one.fate is SettingFate.CHANGED:
        yield f"{counted(len(plan.changes), 'parameter')} {'to set' if dry_run else 'set'}"
    elif one.fate is SettingFate.SAME:
        yield "nothing to change"
    else:
        yield f"{NOT_DONE[one.fate]}: {one.reason}"
    for wanted in plan.changes:
        was = "" if wanted.now is None else f" ({wanted.now} now)" if dry_run else f" ({wanted.now} before)"
        yield f"{wanted.parameter} = {wanted.value}{was}: {wanted.reason}"
    for wanted in plan.wanted:
        if wanted.keeps:
            stays = "not set" if wanted.now is None else f"stays {wanted.now}"
            yield f"{wanted.parameter} {stays}, not {wanted.value}: {wanted.keeps}"
