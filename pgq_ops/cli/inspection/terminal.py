"""Where the lines go: a terminal of some width, or a pipe."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.text import Text


def standard_output() -> Console:
    """The console on stdout. Characters that its encoding lacks are written as escapes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    return Console(highlight=False, markup=False, emoji=False)


def width_of(console: Console) -> int | None:
    """How wide prose may be; None where nobody looks at a terminal."""
    return console.width if console.is_terminal else None


def rendered(console: Console, lines: Iterable[Text]) -> str:
    """The lines as the console shows them, each whole: a terminal folds one that is too long, and copies it whole."""
    with console.capture() as captured:
        for line in lines:
            console.print(line, no_wrap=True, overflow="ignore", crop=False, soft_wrap=True)
    return captured.get()


def show(console: Console, lines: Iterable[Text]) -> None:
    """Print the lines."""
    write(rendered(console, lines))


def write(text: str) -> None:
    """Put text on stdout at once. Raises BrokenPipeError, where rich's own printing would end the process."""
    sys.stdout.write(text)
    sys.stdout.flush()
