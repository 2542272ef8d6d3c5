"""The run as a live screen."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Self

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from pgq_ops.demo.view import Frame

_EVENTS_SHOWN = 9
_WORKERS_SHOWN = 8
_TOTALS = ("killed", "hung", "poisoned", "requeued", "buried", "refused")
_STATE_STYLES = {"ready": "", "running": "cyan", "done": "green", "dead": "red"}


class Screen:
    """Redraws itself in place: the counts, the workers, the last events, the totals. Made for 80 columns."""

    def __init__(self, console: Console) -> None:
        # Redrawn from our own loop: no second thread, so a parent-death signal stays tied to this process.
        self._live = Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        self._events: deque[str] = deque(maxlen=_EVENTS_SHOWN)
        self._frame: Frame | None = None

    def __enter__(self) -> Self:
        """Take over the lower part of the terminal."""
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last frame standing."""
        self._live.stop()

    def say(self, seconds: float, text: str) -> None:
        """Add to the last events."""
        self._events.append(f"{seconds:5.1f} s  {text}")
        if self._frame is None:
            self._live.update(self._last_events(), refresh=True)

    def draw(self, frame: Frame) -> None:
        """Show the frame."""
        self._frame = frame
        parts = (self._head(frame), Text(), _counts(frame), Text(), _workers(frame), Text(), self._last_events())
        self._live.update(Group(*parts, Text(), _totals(frame)), refresh=True)

    def _head(self, frame: Frame) -> RenderableType:
        head = Text("pgq-ops demo", style="bold")
        head.append(f"   {frame.seconds:.0f} of {frame.total_seconds:.0f} s   {frame.phase}", style="not bold")
        return head

    def _last_events(self) -> RenderableType:
        padding = [""] * (_EVENTS_SHOWN - len(self._events))
        return Text("\n".join([*self._events, *padding]), no_wrap=True, overflow="ellipsis")


def _counts(frame: Frame) -> RenderableType:
    table = Table(box=None, padding=(0, 3, 0, 0))
    for state in frame.look.counts:
        table.add_column(state, justify="right", header_style="dim", style=_STATE_STYLES.get(state, ""))
    table.add_row(*(str(count) for count in frame.look.counts.values()))
    return table


def _workers(frame: Frame) -> RenderableType:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name in frame.members[:_WORKERS_SHOWN]:
        table.add_row(Text(name), _doing(frame, name))
    if len(frame.members) > _WORKERS_SHOWN:
        table.add_row(f"and {len(frame.members) - _WORKERS_SHOWN} more", "")
    return table


def _doing(frame: Frame, worker: str) -> Text:
    held = frame.look.held_by(worker)
    if held is None:
        return Text("hangs; its job was taken back", "yellow") if worker in frame.hung else Text("idle", "dim")
    left = held.lease_left_seconds
    lease = f"its lease ends in {left:.1f} s" if left > 0 else f"its lease ended {-left:.1f} s ago"
    if worker in frame.hung:
        return Text(f"hangs with job {held.job}, {lease}", "yellow")
    return Text(f"job {held.job}, {lease}")


def _totals(frame: Frame) -> RenderableType:
    table = Table(box=None, padding=(0, 3, 0, 0))
    for event in _TOTALS:
        table.add_column(event, justify="right", header_style="dim")
    table.add_row(*(str(frame.look.events.get(event, 0)) for event in _TOTALS))
    return table
