"""Says in words what a pass of the reaper did, or would do, and what there is left to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.wording import command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.cli.reap_report import Report
    from pgq_ops.tasks.reap_result import ReapResult


def question(plan: Report) -> str:
    """What to ask before the plan is carried out."""
    parts = [
        f"{one.name} ({'; '.join([_numbers(one.result), *(one.cascades if one.result.dead_lettered else ())])})"
        for one in plan.tables
        if one.result is not None and one.changed
    ]
    return f"Take back the expired leases of {', '.join(parts)}?"


def _numbers(plan: ReapResult) -> str:
    return f"{plan.requeued} to requeue, {plan.dead_lettered} to bury"


def lines(report: Report) -> Iterator[str]:
    """The report for people, without what went wrong: that is its failure."""
    for one in report.tables:
        if one.result is not None:
            yield from _table(one.name, one.result, include_stale=report.include_stale)
            if one.result.dead_lettered:
                yield from (f"  with the buried jobs: {cascade}" for cascade in one.cascades)


def _table(name: str, result: ReapResult, *, include_stale: bool) -> Iterator[str]:
    if not (result.requeued or result.dead_lettered or result.conflicts or result.busy or result.remaining):
        yield f"{name}: no expired lease to take back"
    else:
        dry_run = result.dry_run
        requeued, buried = (
            f"{number} {_verb(number, dry_run=dry_run)}" for number in (result.requeued, result.dead_lettered)
        )
        yield f"{name}: {requeued} requeued, {buried} buried"
    if result.conflicts:
        yield f"  {result.conflicts} could not be written: {result.example}"
    if result.busy:
        yield f"  locked by somebody else just now: {', '.join(result.busy)}"
    if result.remaining and not result.dry_run:
        still = "1 is" if result.remaining == 1 else f"{result.remaining} are"
        yield f"  {still} still expired: locked or refused; the next pass tries again"
    if result.stale and not include_stale:
        asking = command("pgq-ops", "reap", operands=[name], options=["--include-stale"])
        stale = "1 is" if result.stale == 1 else f"{result.stale} are"
        yield f"  {stale} stale (expired too long ago to be taken unasked): {asking}"


def _verb(number: int, *, dry_run: bool) -> str:
    if dry_run:
        return "would be"
    return "was" if number == 1 else "were"
