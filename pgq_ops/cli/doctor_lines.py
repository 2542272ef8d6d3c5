"""The checklist for people: what is wrong first, then what could not be checked, what passed, what would be done."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from pgq_ops.checks.production.verdict import Outcome
from pgq_ops.checks.wording import counted
from pgq_ops.cli.inspection.finding_lines import FindingLines
from pgq_ops.cli.inspection.lines import printable, prose
from pgq_ops.cli.inspection.screen import verdict, wrong
from pgq_ops.cli.reap_lines import lines as reap_lines
from pgq_ops.cli.reap_report import Reaped
from pgq_ops.cli.reap_report import Report as ReapReport
from pgq_ops.config.writing import toml_key
from pgq_ops.tasks.reap_result import ReapResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.production.judging import Judged
    from pgq_ops.cli.doctor_plans import Planned
    from pgq_ops.cli.doctor_report import Examined, Report

_INDENT = 2


def lines(report: Report, width: int | None, *, everything: bool = False) -> list[Text]:
    """The lines; prose is broken to fit the width (None: not at all), names, commands and SQL never are.

    `everything`: with what was seen of each point that passed, or for which there is nothing to check.
    """
    at = report.seen.at
    shown = [Text(f"{at[:10]} {at[11:19]} UTC  {printable(report.seen.database)}", "dim")]
    findings = FindingLines(width)
    for one in report.tables:
        shown += [Text(), *_table(one, findings, width, everything=everything)]
    return shown


def _table(one: Examined, findings: FindingLines, width: int | None, *, everything: bool) -> Iterator[Text]:
    title = Text.assemble((printable(one.view.name), "bold"), "  ", printable(one.view.table), "  ")
    yield title + _verdict(one)
    if one.view.error is not None:
        return
    for finding in one.findings:
        yield from findings.of(one.view.name, finding)
    yield from _unknown(one.with_outcome(Outcome.UNKNOWN), width)
    for outcome, head, style in (
        (Outcome.PASSED, "passed", "green"),
        (Outcome.NOT_APPLICABLE, "nothing to check", "dim"),
    ):
        points = one.with_outcome(outcome)
        if points:
            yield Text()
            yield from _short(points, head, style, width, everything=everything)
    yield Text()
    yield from _would_do(one, width)


def _verdict(one: Examined) -> Text:
    """What is wrong, and where time was too short for the checklist, how much of it is not known."""
    points = len(one.with_outcome(Outcome.UNKNOWN))
    unchecked = Text(f"{counted(points, 'point')} could not be checked", "bold yellow")
    if not (points and one.out_of_time):
        return verdict(replace(one.view, findings=one.findings))
    return Text(", ").join([*wrong(one.findings), unchecked])


def _unknown(points: list[Judged], width: int | None) -> Iterator[Text]:
    """Each reason once, with the points that it keeps from being checked, and the way out."""
    if points:
        yield Text()
        yield Text(f"could not be checked: {len(points)}", "yellow")
    reasons: dict[tuple[str, str], list[str]] = {}
    for point in points:
        reasons.setdefault((point.verdict.text, point.verdict.remedy), []).append(point.title)
    for (why, remedy), titles in reasons.items():
        yield from prose(f"{'; '.join(titles)}: {why}", width, indent=_INDENT)
        yield from (Text(f"    {printable(line)}", "bold") for line in remedy.splitlines())


def _short(points: list[Judged], head: str, style: str, width: int | None, *, everything: bool) -> Iterator[Text]:
    yield Text(f"{head}: {len(points)}", style)
    if everything:
        for point in points:
            yield from prose(f"{point.title}: {point.verdict.text}", width, indent=_INDENT)
    else:
        yield from prose("; ".join(point.title for point in points), width, indent=_INDENT)


def _would_do(one: Examined, width: int | None) -> Iterator[Text]:
    """What the agent would do now; of a task whose section is missing, what it takes first."""
    yield Text("in mode manage the agent would now", "bold")
    for planned in one.planned:
        for line in _plan(one.view.name, planned):
            yield from prose(line, width, indent=_INDENT)
        if not planned.requested:
            section = f"[job_tables.{toml_key(one.view.name)}.{planned.task}]"
            yield Text(f"  {planned.task}: only with this section in pgq-ops.toml: {printable(section)}")


def _plan(name: str, planned: Planned) -> Iterator[str]:
    if planned.result is None:
        yield f"{planned.task}: not known: {planned.why_not}"
    elif isinstance(planned.result, ReapResult):
        yield from reap_lines(ReapReport((Reaped(name, planned.result),), dry_run=True))
    else:
        yield f"{planned.task}: {planned.result.message or planned.result.outcome}"
