"""Dead letters as lines of a terminal: the numbers, the most frequent errors, then job by job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from pgq_ops.cli.dead_numbers import cut, error_lines, numbers
from pgq_ops.cli.dead_report import Listed
from pgq_ops.cli.inspection.lines import columns, printable
from pgq_ops.cli.inspection.numbers import ago
from pgq_ops.job_table.queue_labels import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.cli.dead_report import Report
    from pgq_ops.stats.dead_letters import DeadLetter

_GAP = 2


def lines(report: Report, width: int | None) -> Iterator[Text]:
    """The report for people; errors are cut to fit the width (None: not at all), ids and names never.

    Without what went wrong: that is the report's failure.
    """
    first = True
    for name, found in report.tables:
        if not isinstance(found, Listed):
            continue
        if not first:
            yield Text()
        first = False
        yield Text.assemble((printable(name), "bold"), f"  {printable(str(found.table))}  {numbers(found.overview)}")
        yield from error_lines(found.overview, width)
        yield from _letters(found, width)


def _letters(found: Listed, width: int | None) -> Iterator[Text]:
    if not found.letters:
        return
    fields, died = found.table.fields, found.overview.summary.age_since != "created_at"
    queues = any(letter.queue != "default" for letter in found.letters)
    places = len({letter.table for letter in found.letters}) > 1
    wanted = {
        "job": True,
        "died" if died else "created": True,
        "attempts": "attempts" in fields,
        "kind": "kind" in fields,
        "queue": queues,
        "last owner": "owner" in fields,
        "table": places,
        "error": "error" in fields,
    }
    kept = [number for number, keep in enumerate(wanted.values()) if keep]
    head = [Text(word, "dim") for word in wanted]
    cells = [_row(letter, died=died) for letter in found.letters]
    rows = [[row[number] for number in kept] for row in (head, *cells)]
    if wanted["error"] and width is not None:
        others = sum(max(cell_len(row[number].plain) for row in rows) + _GAP for number in range(len(kept) - 1))
        rows = [[*row[:-1], Text(cut(row[-1].plain, width - others), row[-1].style)] for row in rows]
    left = [
        position for position, number in enumerate(kept) if list(wanted)[number] not in ("died", "created", "attempts")
    ]
    yield Text()
    yield from columns(rows, None, left=left)
    more = found.overview.summary.jobs - len(found.letters)
    if more > 0:
        yield Text(f"and {more:,} more; --limit lists more of them", "dim")


def _row(letter: DeadLetter, *, died: bool) -> list[Text]:
    """The cells; `died`: whether the ages of the column are those of deaths."""
    age = "?" if letter.age_seconds is None else f"{ago(letter.age_seconds)} ago"
    other = "created " if died and letter.age_since == "created_at" else ""
    attempts = "-" if letter.attempts is None else f"{letter.attempts:,}"
    texts = (letter.kind, shown(letter.queue), letter.owner, letter.table, letter.error)
    first = [printable(letter.id or "-"), other + age, attempts]
    return [Text(cell) for cell in (*first, *(printable(text or "-") for text in texts))]
