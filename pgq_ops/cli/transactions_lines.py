"""Open transactions as lines of a terminal: a row of numbers each, and below it whose it is and whom it blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from pgq_ops.cli.inspection.lines import columns, printable, prose
from pgq_ops.cli.inspection.numbers import ago
from pgq_ops.cli.transactions_waiting import blocks, prepared, waits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.cli.transactions_report import Report
    from pgq_ops.stats.transactions import Transaction

_HEAD = ("session", "open", "idle", "vacuum", "blocks", "state")
_LEFT = (0, 3, 5)


def lines(report: Report, width: int | None, *, queries: bool) -> Iterator[Text]:
    """The report for people. Names, sessions and statements are neither wrapped nor cut."""
    sessions = report.seen.sessions
    if report.grant:
        yield from prose(f"role {report.role} sees its own sessions only; to see the others:", width)
        yield Text(report.grant, "bold")
        yield Text()
    if hidden := report.seen.hidden:
        do = "1 session does not tell" if hidden == 1 else f"{hidden:,} sessions do not tell"
        text = f"{do} what it is at (track_activities is off): whether a transaction is open there is not known"
        yield from prose(text if hidden == 1 else text.replace("what it is at", "what they are at"), width)
        yield Text()
    if not sessions:
        if report.seen.visible:
            none = "no other transaction of a client is known to be" if hidden else "no transaction of a client is"
            yield Text(f"{none} open in {printable(report.database)}")
        yield from prepared(report)
        return
    number = "1 transaction is" if len(sessions) == 1 else f"{len(sessions):,} transactions are"
    yield Text(f"{number} open in {printable(report.database)}, the longest for {ago(sessions[0].seconds)}")
    yield Text()
    head = [Text(word, "dim") for word in _HEAD]
    first, *rows = columns([head, *(_row(report, one) for one in sessions)], None, left=_LEFT)
    yield first
    for one, row in zip(sessions, rows, strict=True):
        yield row
        yield from _details(report, one, queries=queries)
    yield from prepared(report)


def _row(report: Report, one: Transaction) -> list[Text]:
    blocked = len(report.blocked_by(one))
    return [
        Text(one.session, "bold"),
        Text(ago(one.seconds)),
        Text("-" if one.idle_seconds is None else ago(one.idle_seconds)),
        Text("held", "yellow") if one.holds_vacuum else Text("-"),
        Text(f"{blocked:,}", "red") if blocked else Text("-"),
        Text(one.state),
    ]


def _details(report: Report, one: Transaction, *, queries: bool) -> Iterator[Text]:
    whose = [one.application_name, f"user {one.user}", one.client and f"from {one.client}"]
    whose.append("a superuser" if one.superuser else "")
    yield Text(f"  {printable(', '.join(filter(None, whose)))}")
    yield from waits(report, one)
    yield from blocks(report.blocked_by(one))
    if queries:
        yield Text(f"  {printable(' '.join(one.query.split()))}", "dim")
