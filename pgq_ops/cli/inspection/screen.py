"""The round as the lines of one screen: what is wrong and what to run first, then the numbers behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from pgq_ops.checks.finding import Severity
from pgq_ops.cli.dead_numbers import error_lines, numbers
from pgq_ops.cli.inspection.activity import expiry_lines, lease_lines, task_lines
from pgq_ops.cli.inspection.finding_lines import STYLES, FindingLines
from pgq_ops.cli.inspection.lines import printable, prose
from pgq_ops.cli.inspection.numbers import as_of
from pgq_ops.cli.inspection.queue_lines import queue_lines
from pgq_ops.cli.inspection.vital_lines import vital_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.checks.finding import Finding
    from pgq_ops.cli.inspection.view import Round, TableView

# More than these, over all job tables, and the screen is no screen any more; --json has all.
_MOST_QUEUES = 15
_FEWEST_QUEUES = 4
_MOST_ERRORS = 3


def screen(seen: Round, width: int | None, *, reasons: bool = True) -> list[Text]:
    """The lines; prose is broken to fit the width (None: not at all), names, commands and SQL never are.

    `reasons`: with why a job table cannot be looked at; without it where the command's error says so.
    """
    lines = [Text(f"{_clock(seen.at)}  {printable(seen.database)}", "dim")]
    if len(seen.tables) > 1:
        lines += [Text.assemble((printable(view.name), "bold"), ": ", verdict(view)) for view in seen.tables]
    most = max(_FEWEST_QUEUES, _MOST_QUEUES // len(seen.tables))
    findings = FindingLines(width)
    for view in seen.tables:
        lines += [Text(), *_table(view, seen, findings, width, most, reasons=reasons)]
    return lines


def verdict(view: TableView) -> Text:
    """What is wrong with a job table, in three words."""
    if view.error is not None:
        return Text("cannot be looked at", "bold red")
    parts = wrong(view.findings)
    if view.not_read.keys() & {"indexes", "jobs", "leases"}:
        parts.append(Text("not everything could be read", "bold yellow"))
    return Text(", ").join(parts) if parts else Text("nothing is wrong", "green")


def wrong(findings: Sequence[Finding]) -> list[Text]:
    """How many findings there are of each severity, the worst first."""
    found = {severity: sum(one.severity is severity for one in findings) for severity in Severity}
    return [
        Text(f"{number} {severity}{'s' if number > 1 and severity is Severity.WARNING else ''}", STYLES[severity])
        for severity, number in found.items()
        if number
    ]


def _table(
    view: TableView, seen: Round, findings: FindingLines, width: int | None, most: int, *, reasons: bool
) -> Iterator[Text]:
    title = Text.assemble((printable(view.name), "bold"), "  ", printable(view.table), "  ")
    yield title + verdict(view)
    if view.error is not None:
        for line in str(view.error).splitlines() if reasons else ():
            yield Text(f"  {printable(line)}")
        return
    for finding in view.findings:
        yield from findings.of(view.name, finding)
    yield Text()
    yield from queue_lines(view, width, most)
    yield from lease_lines(view, width)
    yield from expiry_lines(view, width)
    yield from _dead_letters(view, width)
    yield from vital_lines(view, seen, width)
    yield Text()
    yield from task_lines(view, width)


def _dead_letters(view: TableView, width: int | None) -> Iterator[Text]:
    if view.dead is None:
        yield Text(f"dead letters: not read: {view.not_read.get('dead_letters', 'unknown')}", "yellow")
    elif view.dead.summary.jobs:
        yield Text()
        yield from prose(numbers(view.dead) + as_of(view.ages.get("dead_letters", 0.0)), width)
        yield from error_lines(view.dead, width, _MOST_ERRORS)


def _clock(moment: str) -> str:
    """ISO 8601 as people read it, to the second."""
    return f"{moment[:10]} {moment[11:19]} UTC"
