"""Says in words what was put back, or would be, and what was left as somebody else has set it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.wording import counted
from pgq_ops.cli.autovacuum_lines import NOT_DONE
from pgq_ops.config.writing import toml_key
from pgq_ops.tasks.autovacuum.setting_outcome import SettingFate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.cli.autovacuum_reverting import Report
    from pgq_ops.tasks.autovacuum.setting_outcome import LeafOutcome


def question(plan: Report) -> str:
    """What to ask before the plan is carried out."""
    parts = [
        f"{one.name} ({', '.join(str(leaf.relation) for leaf in one.with_fate(SettingFate.CHANGED))})"
        for one in plan.tables
        if one.parameters
    ]
    return f"Put {counted(plan.parameters, 'storage parameter')} of {', '.join(parts)} back?"


def lines(report: Report) -> Iterator[str]:
    """The report for people, without what went wrong: that is its failure."""
    for one in report.tables:
        if one.leaves is None:
            continue
        yield f"{one.name}:{'' if one.leaves else ' nothing that pgq-ops set'}"
        for leaf in one.leaves:
            yield from _leaf(leaf, dry_run=report.dry_run)
        if one.set_again:
            section = f"[job_tables.{toml_key(one.name)}.autovacuum]"
            yield f'  an agent with this configuration sets them again: mode = "plan" in {section} keeps it from that'
    yield from (f"{name}: nothing that pgq-ops set" for name in report.untouched)


def _leaf(leaf: LeafOutcome, *, dry_run: bool) -> Iterator[str]:
    if leaf.fate is SettingFate.CHANGED:
        yield f"  {leaf.relation}: {counted(len(leaf.changes), 'parameter')} {'to put back' if dry_run else 'put back'}"
    elif leaf.fate is SettingFate.SAME:
        yield f"  {leaf.relation}: nothing to put back"
    else:
        yield f"  {leaf.relation}: {NOT_DONE[leaf.fate]}: {leaf.reason}"
    for change in leaf.changes:
        yield f"    {change}"
    for change in leaf.left:
        now = "not set" if change.after is None else change.after
        yield f"    {change.parameter} stays as somebody else set it: {now} (pgq-ops had set {change.before})"
