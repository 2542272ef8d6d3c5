"""Dead letters in a few numbers: as lines of a terminal and as JSON, for `dead list` and `inspect` alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from pgq_ops.cli.inspection.lines import printable
from pgq_ops.cli.inspection.numbers import ago

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.stats.dead_overview import DeadOverview

# A screen has room for no more.
MOST_ERRORS = 5
_GAP = 2
# Less of an error tells nothing; a line that is too wide then is folded by the terminal.
_SHORTEST_ERROR = 30


def numbers(overview: DeadOverview) -> str:
    """How many dead letters there are, how old they are, how many of them came lately."""
    summary = overview.summary
    if not summary.jobs:
        return "no dead letters"
    many = "1 dead letter" if summary.jobs == 1 else f"{summary.jobs:,} dead letters"
    parts = [many if summary.exact else f"more than {many}"]
    if summary.oldest_seconds is not None and summary.newest_seconds is not None:
        since = " created" if summary.age_since == "created_at" else ""
        of = ("" if summary.exact else " of those") + since
        parts.append(
            f"the oldest{of} {ago(summary.oldest_seconds)} ago, the newest{since} {ago(summary.newest_seconds)} ago"
        )
    if summary.last_hour is not None:
        least = "" if summary.growth_exact else "at least "
        parts.append(f"{least}{summary.last_hour:,} in the last hour, {least}{summary.last_day:,} in the last 24 h")
    return "; ".join(parts)


def error_lines(overview: DeadOverview, width: int | None, most: int = MOST_ERRORS) -> Iterator[Text]:
    """The `most` frequent errors, each cut to fit the width (None: not at all)."""
    groups, looked_at = overview.errors.groups, overview.errors.looked_at
    known = [group for group in groups if group.error is not None][:most]
    if not known:
        return
    of = f" of the latest {looked_at:,}" if looked_at < overview.summary.jobs else ""
    yield Text(f"top errors{of}", "dim")
    size = max(len(f"{group.jobs:,}") for group in known)
    for group in known:
        text = printable(group.error or "")
        yield Text(f"{group.jobs:>{size},}  {cut(text, None if width is None else width - size - _GAP)}")
    if rest := len([group for group in groups if group.error is not None]) - len(known):
        yield Text(f"and {rest} more; dead list --json has them all", "dim")


def cut(text: str, room: int | None) -> str:
    """The text, or its beginning where the room (None: any) is narrower."""
    if room is None or cell_len(text) <= max(room, _SHORTEST_ERROR):
        return text
    return f"{set_cell_size(text, max(room, _SHORTEST_ERROR) - 1).rstrip()}\u2026"


def numbers_as_json(overview: DeadOverview, most_errors: int | None = None) -> dict[str, Any]:
    """The numbers as `dead list --json` and `inspect --json` have them; the most frequent errors, or all (None)."""
    summary = overview.summary
    return {
        "jobs": summary.jobs,
        "exact": summary.exact,
        "oldest_seconds": rounded(summary.oldest_seconds),
        "newest_seconds": rounded(summary.newest_seconds),
        "age_since": summary.age_since,
        "last_hour": summary.last_hour,
        "last_day": summary.last_day,
        "growth_exact": summary.growth_exact,
        "top_errors": [{"error": group.error, "jobs": group.jobs} for group in overview.errors.groups[:most_errors]],
        "errors_looked_at": overview.errors.looked_at,
    }


def rounded(seconds: float | None) -> float | None:
    """Seconds to the millisecond."""
    return None if seconds is None else round(seconds, 3)
