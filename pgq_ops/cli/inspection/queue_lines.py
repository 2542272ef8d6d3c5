"""The queues as lines of the screen, the worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from pgq_ops.cli.inspection import numbers
from pgq_ops.cli.inspection.lines import columns, printable
from pgq_ops.cli.inspection.rows import OTHER_STATES, STATES, queue_rows
from pgq_ops.job_table.queue_labels import ALL_QUEUES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.cli.inspection.rows import QueueRow
    from pgq_ops.cli.inspection.view import TableView


def queue_lines(view: TableView, width: int | None, most: int) -> Iterator[Text]:
    """The `most` worst queues of a job table, and how many more there are."""
    depths = view.look.depths if view.look else None
    if view.look is None or depths is None:
        yield Text(f"queues: not read: {view.not_read.get('jobs', 'unknown')}", "yellow")
        return
    age = numbers.as_of(view.ages.get("jobs", 0.0))
    rows = queue_rows(view.look.table, depths)
    queues = [row for row in rows if row.queue != ALL_QUEUES]
    most = len(queues) if len(queues) <= most + 1 else most
    shown = [*queues[:most], *rows[len(queues) :]]
    head = [Text(word, "dim") for word in (f"queue{age}", *STATES, "oldest ready")]
    yield from columns([head, *(_row(row) for row in shown)], width)
    if rest := queues[most:]:
        sums = ", ".join(f"{sum(row.jobs(state) for row in rest):,} {state}" for state in ("ready", "running"))
        yield Text(f"and {len(rest)} more queues with {sums}; --json has them all", "dim")
    others = [
        f"{numbers.count(total)} {state}" for state in OTHER_STATES if (total := depths.total(state)) and total.value
    ]
    if others:
        yield Text(f"also {', '.join(others)}", "yellow")
    cells = {cell.plain[:1] for row in shown for cell in _row(row)[1:]}
    legend = [
        text for mark, text in (("~", "~ estimated"), (numbers.UNKNOWN, "? not known for one queue")) if mark in cells
    ]
    if legend:
        yield Text("; ".join(legend), "dim")


def _row(row: QueueRow) -> list[Text]:
    counts = [Text(numbers.count(row.counts.get(state))) for state in STATES]
    return [Text(printable(row.queue)), *counts, Text(numbers.waiting(row), "bold red" if row.lateness else "")]
