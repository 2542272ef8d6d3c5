"""Text that may come from anybody's rows, names and errors, for a terminal, which obeys what it is sent."""

from __future__ import annotations

from typing import TextIO


def terminal_safe(text: str, stream: TextIO, *, lines: int | None = None) -> str:
    """The text as `stream` may have it: a terminal nothing that it would obey, a file or a pipe every byte of it.

    `lines`: how many there may be at most on a terminal; None where each line break in the text is meant.
    """
    parts = text.split("\n", -1 if lines is None else lines - 1)
    if all(map(str.isprintable, parts)) or not stream.isatty():
        return text
    # Only such text pays for it.
    from pgq_ops.cli.inspection.lines import printable

    return "\n".join(map(printable, parts))
