"""The screen again and again, in place, until somebody interrupts."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from pgq_ops.cli.inspection.lines import prose
from pgq_ops.cli.inspection.numbers import ago
from pgq_ops.cli.inspection.screen import screen
from pgq_ops.cli.inspection.terminal import rendered, show, standard_output, width_of, write
from pgq_ops.errors import PgqOpsError
from pgq_ops.logs import masked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

    from rich.console import Console

    from pgq_ops.cli.inspection.inspector import Inspector

_OWN_SCREEN, _SHELLS_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"  # without and with the cursor
_HOME, _REST_OF_LINE, _REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"


def watch(inspector: Inspector, every: float) -> None:
    """Look every so many seconds. A database that goes away is waited for; a first look that fails raises.

    On a terminal the last screen stays behind at the end; else each look is printed below the one before.
    """
    console = standard_output()
    seen = inspector.look()
    failure = seen.failure()
    if failure is not None and all(view.error is not None for view in seen.tables):
        raise failure
    lines = screen(seen, width_of(console))
    try:
        with _ended_by_signals() as ended, _painting(console, every) as paint:
            away_since: float | None = None
            paint(lines)
            while not ended.wait(every):
                try:
                    lines = screen(inspector.look(), width_of(console))
                    away_since = None
                except PgqOpsError as error:
                    away_since = away_since or time.time()
                    lines = _away(error, away_since, width_of(console))
                paint(lines)
    finally:
        if _redraws(console):
            show(console, lines)


def _away(error: PgqOpsError, since: float, width: int | None) -> list[Text]:
    """What there is to say without a database; old numbers would look like new ones."""
    moment = datetime.fromtimestamp(since, UTC)
    head = Text(f"unreachable since {moment:%Y-%m-%d %H:%M:%S} UTC ({ago(time.time() - since)})", "bold red")
    return [head, *prose(masked(str(error)), width, indent=2), Text("trying again", "dim")]


def _redraws(console: Console) -> bool:
    return console.is_terminal and not console.is_dumb_terminal


@contextmanager
def _painting(console: Console, every: float) -> Iterator[Callable[[Sequence[Text]], None]]:
    """Gives what puts lines on the screen: in place of the ones before, without a moment of emptiness."""
    if not _redraws(console):
        yield lambda lines: show(console, [*lines, Text()])
        return
    write(_OWN_SCREEN)
    try:
        yield lambda lines: write(_frame(console, lines, every))
    finally:
        write(_SHELLS_SCREEN)


def _frame(console: Console, lines: Sequence[Text], every: float) -> str:
    """The lines that fit, over the ones before. A line wider than the screen is folded by the terminal, not cut."""
    width, height = console.size
    room = height - 1
    painted: list[str] = []
    for number, line in enumerate(lines):
        cells = cell_len(line.plain)
        room -= max(1, -(-cells // width))
        if room < 0:
            painted[-1] = f"... {len(lines) - number + 1} more lines need a taller window{_REST_OF_LINE}"
            break
        # After a full row the cursor still stands on its last character, which would be erased.
        erase = _REST_OF_LINE if cells == 0 or cells % width else ""
        painted.append(rendered(console, [line]).rstrip("\n") + erase)
    footer = rendered(console, [Text(f"every {every:g} s; Ctrl-C ends", "dim")]).rstrip("\n")
    return _HOME + "\r\n".join([*painted, footer]) + _REST_OF_LINE + _REST_OF_SCREEN


@contextmanager
def _ended_by_signals() -> Iterator[threading.Event]:
    """Gives what is set by Ctrl-C, SIGTERM or SIGHUP, so that the terminal is put back in order.

    An exception instead could be raised, and lost, inside the driver. The second signal raises one: a connection
    attempt may last seconds.
    """
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        if ended.is_set():
            raise KeyboardInterrupt
        ended.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
