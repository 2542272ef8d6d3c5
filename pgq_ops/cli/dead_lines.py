"""Dead letters as lines of a terminal: the numbers, the most frequent errors, then job by job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from pgq_ops.cli.dead_report import MOST_ERRORS, Listed
from pgq_ops.cli.inspection.lines import columns, printable
from pgq_ops.cli.inspection.numbers import ago
from pgq_ops.job_table.queue_labels import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.cli.dead_report import Report
    from pgq_ops.stats.dead_letters import DeadLetter
    from pgq_ops.stats.dead_overview import DeadOverview

_GAP = 2
# Less of an error tells nothing; a line that is too wide then is folded by the terminal.
_SHORTEST_ERROR = 30


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


def numbers(overview: DeadOverview) -> str:
    """How many dead letters there are, how old they are, how many of them came lately."""
    summary = overview.summary
    if not summary.jobs:
        return "no dead letters"
    many = "1 dead letter" if summary.jobs == 1 else f"{summary.jobs:,} dead letters"
    parts = [many if summary.exact else f"more than {many}"]
    if summary.oldest_seconds is not None and summary.newest_seconds is not None:
        of = "" if summary.exact else " of those"
        parts.append(f"the oldest{of} {ago(summary.oldest_seconds)} ago, the newest {ago(summary.newest_seconds)} ago")
    if summary.last_hour is not None:
        least = "" if summary.growth_exact else "at least "
        parts.append(f"{least}{summary.last_hour:,} in the last hour, {least}{summary.last_day:,} in the last 24 h")
    return "; ".join(parts)


def error_lines(overview: DeadOverview, width: int | None) -> Iterator[Text]:
    """The most frequent errors."""
    groups, looked_at = overview.errors.groups, overview.errors.looked_at
    known = [group for group in groups if group.error is not None][:MOST_ERRORS]
    if not known:
        return
    of = f" of the latest {looked_at:,}" if looked_at < overview.summary.jobs else ""
    yield Text(f"top errors{of}", "dim")
    size = max(len(f"{group.jobs:,}") for group in known)
    for group in known:
        text = printable(group.error or "")
        yield Text(f"{group.jobs:>{size},}  {_cut(text, None if width is None else width - size - _GAP)}")
    if rest := len([group for group in groups if group.error is not None]) - len(known):
        yield Text(f"and {rest} more; --json has them all", "dim")


def _letters(found: Listed, width: int | None) -> Iterator[Text]:
    if not found.letters:
        return
    fields = found.table.fields
    queues = any(letter.queue != "default" for letter in found.letters)
    places = len({letter.table for letter in found.letters}) > 1
    wanted = {
        "job": True,
        "died": True,
        "attempts": "attempts" in fields,
        "kind": "kind" in fields,
        "queue": queues,
        "last owner": "owner" in fields,
        "table": places,
        "error": "error" in fields,
    }
    kept = [number for number, keep in enumerate(wanted.values()) if keep]
    head = [Text(word, "dim") for word in wanted]
    rows = [[row[number] for number in kept] for row in (head, *map(_row, found.letters))]
    if wanted["error"] and width is not None:
        others = sum(max(cell_len(row[number].plain) for row in rows) + _GAP for number in range(len(kept) - 1))
        rows = [[*row[:-1], Text(_cut(row[-1].plain, width - others), row[-1].style)] for row in rows]
    left = [position for position, number in enumerate(kept) if list(wanted)[number] not in ("died", "attempts")]
    yield Text()
    yield from columns(rows, None, left=left)
    more = found.overview.summary.jobs - len(found.letters)
    if more > 0:
        yield Text(f"and {more:,} more; --limit shows so many, the filters others", "dim")


def _row(letter: DeadLetter) -> list[Text]:
    died = "?" if letter.age_seconds is None else f"{ago(letter.age_seconds)} ago"
    attempts = "-" if letter.attempts is None else f"{letter.attempts:,}"
    texts = (letter.kind, shown(letter.queue), letter.owner, letter.table, letter.error)
    return [Text(printable(letter.id or "-")), Text(died), Text(attempts), *(Text(printable(t or "-")) for t in texts)]


def _cut(text: str, room: int | None) -> str:
    if room is None or cell_len(text) <= max(room, _SHORTEST_ERROR):
        return text
    return f"{set_cell_size(text, max(room, _SHORTEST_ERROR) - 1).rstrip()}\u2026"
