"""Who is at work, as lines of the screen: the running jobs' leases, and the agent's last task runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from pgq_ops.cli.inspection.lines import columns, printable, prose
from pgq_ops.cli.inspection.numbers import ago, as_of
from pgq_ops.job_table.queue_labels import shown
from pgq_ops.stats.leases import oldest_expired

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.cli.inspection.view import TableView
    from pgq_ops.stats.next_expiries import NextExpiry
    from pgq_ops.stats.task_runs import TaskRun

# A condition of leases, and how it looks where there are any.
_CONDITIONS = {
    "live": "",
    "expired": "bold red",
    "stale": "bold red",
    "missing": "bold yellow",
    "overlong": "bold yellow",
    "future": "bold yellow",
}
_MOST_QUEUES = 5
_OUTCOMES = {"ok": "green", "nothing": "green", "busy": "yellow", "failed": "bold red"}


def lease_lines(view: TableView, width: int | None) -> Iterator[Text]:
    """How the leases stand, all queues together, and of each queue in which they do not stand well, the worst first."""
    yield Text()
    found = view.look.leases if view.look else None
    if found is None:
        yield Text(f"leases: not read: {view.not_read.get('leases', 'unknown')}", "yellow")
        return
    age = as_of(view.ages.get("leases", 0.0))
    oldest = oldest_expired(found.queues)
    head = [Text(word, "dim") for word in (f"leases{age}", *_CONDITIONS, "oldest expired")]
    totals = {name: found.total(name) for name in _CONDITIONS}
    rows = [_lease_row("", totals, oldest, more="+" if found.truncated else "")]
    troubled = [one for one in found.worst_first() if one.trouble_seconds or one.future]
    if len(found.worst_first()) > 1:
        for one in troubled[:_MOST_QUEUES]:
            numbers = {name: int(getattr(one, name)) for name in _CONDITIONS}
            rows.append(_lease_row(printable(shown(one.queue)), numbers, one.oldest_expired_seconds))
    yield from columns([head, *rows], width)


def _lease_row(name: str, numbers: dict[str, int], oldest_seconds: float | None, more: str = "") -> list[Text]:
    cells = [Text(f"{number:,}{more}", _CONDITIONS[name] if number else "") for name, number in numbers.items()]
    known = numbers["expired"] and oldest_seconds is not None
    return [Text(name), *cells, Text(f"{ago(oldest_seconds or 0.0)} ago" if known else "-")]


def expiry_lines(view: TableView, width: int | None) -> Iterator[Text]:
    """Whose lease ends next."""
    if not view.expiries:
        return
    yield Text()
    head = [Text(word, "dim") for word in ("job", "lease ends", "attempts", "queue", "owner")]
    rows = [_expiry(one) for one in view.expiries]
    with_queue = any(one.queue is not None and one.queue != "default" for one in view.expiries)
    if not with_queue:
        head, *rows = [[*row[:3], row[4]] for row in (head, *rows)]
    yield from columns([head, *rows], width, left=(0, 3, 4))


def _expiry(one: NextExpiry) -> list[Text]:
    left = Text("-", "red")
    if one.seconds_left is not None:
        over = one.seconds_left <= 0
        left = Text(f"{ago(-one.seconds_left)} ago" if over else f"in {ago(one.seconds_left)}", "red" if over else "")
    attempts = Text("-" if one.attempts is None else f"{one.attempts:,}")
    owner = printable(one.owner) if one.owner is not None else "-"
    return [Text(printable(one.id or "-")), left, attempts, Text(printable(shown(one.queue))), Text(owner)]


def task_lines(view: TableView, width: int | None) -> Iterator[Text]:
    """What the agents last did."""
    if view.runs:
        for run in view.runs:
            yield from _run(run, width)
    elif "task_runs" in view.not_read:
        what, *remedy = view.not_read["task_runs"].splitlines()
        for line in prose(f"tasks: not read: {what}", width):
            line.stylize("yellow")
            yield line
        yield from _remedy(remedy)
    elif view.runs is None:
        yield Text("tasks: the agent's runs are not recorded; this begins it: pgq-ops install", "dim")
    else:
        yield Text(f"tasks: no run of one on this table is recorded{_looks(view)}", "dim")


def _looks(view: TableView) -> str:
    """Whether an agent looks at the table all the same, as one that only observes does."""
    if view.agents is None:
        return ""
    looking = [one for one in view.agents if one.is_recent]
    if looking:
        return "; " + " and ".join(f"an agent looks ({one.mode}), {one.host} (pid {one.pid})" for one in looking)
    if view.agents:
        return f"; an agent last looked {ago(view.agents[0].seconds_ago)} ago ({view.agents[0].mode})"
    return ", nor that an agent looked"


def _run(run: TaskRun, width: int | None) -> list[Text]:
    what, *remedy = run.message.splitlines() or [""]
    message = f": {what}" if what else ""
    text = f"{ago(run.seconds_ago)} ago by {run.host} (pid {run.pid}){message}"
    first = Text.assemble((f"{printable(run.task)} ", "dim"), (run.outcome, _OUTCOMES.get(run.outcome, "")), " ")
    return [*prose(text, width, indent=len(first.plain), first=first), *_remedy(remedy)]


def _remedy(lines: Sequence[str]) -> Iterator[Text]:
    """The lines of a message below its first one: statements to run, never broken."""
    return (Text(f"  {printable(line.strip())}", "bold") for line in lines)
