"""The findings of the past as lines for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from pgq_ops.checks.finding import Severity
from pgq_ops.checks.wording import counted
from pgq_ops.cli.findings_evidence import evidence_lines
from pgq_ops.cli.findings_moments import shown, zone
from pgq_ops.cli.findings_turns import turn_lines
from pgq_ops.cli.inspection.lines import printable, prose
from pgq_ops.stats.finding_sayings import said_first
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.cli.findings_report import Report, TableHistory
    from pgq_ops.stats.finding_history import PastFinding
    from pgq_ops.stats.finding_sayings import Standing
    from pgq_ops.stats.finding_turns import Turn

_STYLES = {Severity.CRITICAL: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
_RANK = {str(severity): rank for rank, severity in enumerate(Severity)}
_INDENT = 10
_GAP = 2
_MOST_GAPS = 3


def lines(report: Report, width: int | None) -> list[Text]:
    """The lines; prose is broken to fit the width (None: not at all), names, commands and SQL never are."""
    asked = report.since if report.at is None else report.at
    ago = format_duration(report.now - asked)
    what = f"what was wrong {'since' if report.at is None else 'at'} {shown(asked)} {zone(asked)}, {ago} ago"
    found = [Text(f"{shown(report.now)} {zone(report.now)}  {printable(report.database)}", "dim"), Text(what)]
    for table in report.tables:
        found += [Text(), *_table(report, table, width)]
    if not report.tables:
        found += [Text(), Text("no job table is configured or remembered")]
    if not report.complete:
        found += [Text(), *prose("There was more: name a job table, or a later time.", width)]
    return found


def _table(report: Report, table: TableHistory, width: int | None) -> Iterator[Text]:
    yield Text.assemble((printable(table.name), "bold"), "  ", _verdict(report, table))
    yield from _unwatched(report, table, width)
    worst_first = sorted(
        table.findings, key=lambda one: (not report.is_open(one), _RANK[_said(report, table, one)[0].severity])
    )
    for one in worst_first if report.at is not None else table.findings:
        yield Text()
        yield from _finding(report, table, one, width)


def _verdict(report: Report, table: TableHistory) -> Text:
    if table.findings:
        return Text(f"{len(table.findings)} finding{'s' if len(table.findings) > 1 else ''}")
    if report.at is not None:
        looked, all_along = report.is_watched_at(table, report.at), True
    else:
        looked, all_along = any(ended >= report.since for _, ended in report.watched(table)), not report.gaps(table)
    if not looked:
        return Text("nothing is known", "yellow")
    return Text("nothing was wrong" if all_along else "nothing was wrong while an agent looked", "green")


def _unwatched(report: Report, table: TableHistory, width: int | None) -> Iterator[Text]:
    """When nobody looked: then nothing is known."""
    if report.at is not None:
        if report.is_watched_at(table, report.at):
            return
        before = max((ended for _, ended in report.watched(table) if ended < report.at), default=None)
        after = min((began for began, _ in report.watched(table) if began > report.at), default=None)
        told = [f"until {shown(before)}"] if before is not None else []
        told += [f"from {shown(after)} on"] if after is not None else []
        looked = f"an agent looked {', and '.join(told)}" if told else "no agent has, within 14 days"
        text = f"nobody looked at that moment; {looked}"
    else:
        gaps = [(began, ended) for began, ended in report.gaps(table) if ended - began >= 1]
        if not gaps:
            return
        told = [f"from {shown(began)} to {shown(ended, began)}" for began, ended in gaps[-_MOST_GAPS:]]
        told += [f"and before that {counted(len(gaps) - _MOST_GAPS, 'time')}"] if len(gaps) > _MOST_GAPS else []
        text = f"nobody looked {', '.join(told)}"
    for line in prose(text, width):
        line.stylize("yellow")
        yield line


def _finding(report: Report, table: TableHistory, one: PastFinding, width: int | None) -> Iterator[Text]:
    said, first, stood = _said(report, table, one)
    label = Text(said.severity.upper(), _STYLES[Severity(said.severity)])
    yield from prose(f"{one.id}  {_times(report, one)}", width, indent=_INDENT, first=label)
    # The sentence counts from its own moment: "for 3s" is how long it had been then.
    yield from prose(f"at {shown(said.at, one.opened_at)}: {said.summary}", width, indent=_INDENT)
    if report.at is not None:
        for line in evidence_lines(said.evidence):
            yield from _small(line, width)
    if len(stood) > 1:
        for line in turn_lines(one, stood, first):
            yield from _small(line, width)
    if said.remedy:
        yield Text("  # advised then:", "dim")
    is_of_now = report.is_open(one) and said.remedy == one.latest.remedy
    for line in said.remedy.splitlines():
        yield Text(f"  {printable(line)}", "bold" if is_of_now and not line.startswith("#") else "")


def _times(report: Report, one: PastFinding) -> str:
    """From when to when, and how long."""
    lasted = format_duration(round(report.lasted(one)))
    back = f", gone for minutes and back {counted(one.returns, 'time')}" if one.returns else ""
    if one.returns and (there := round(report.there_at_least(one))):
        back += f": there for {format_duration(there)} of that at least"
    if report.is_open(one):
        return f"since {shown(one.opened_at)}, for {lasted} so far{back}"
    if one.closed_at is None:
        seen = f"last seen {shown(one.last_seen_at, one.opened_at)}"
        return f"from {shown(one.opened_at)}, {seen}, {lasted} later{back}; nobody has looked since"
    return f"from {shown(one.opened_at)} to {shown(one.closed_at, one.opened_at)}, {lasted}{back}"


def _said(report: Report, table: TableHistory, one: PastFinding) -> tuple[Turn, Standing, tuple[Standing, ...]]:
    """What is told first, the turn that it is of, and all of them."""
    stood = report.stood(table, one)
    if report.at is None:
        return *said_first(one, stood), stood
    then = [here for here in stood if here.turn.at <= report.at]
    return one.at(report.at), then[-1] if then else stood[0], stood


def _small(line: str, width: int | None) -> Iterator[Text]:
    """One of several that stand below each other: what does not fit goes on further to the right."""
    for number, part in enumerate(prose(line, None if width is None else width - _GAP, indent=_INDENT)):
        whole = Text(" " * _GAP) + part if number else part
        whole.stylize("dim")
        yield whole
