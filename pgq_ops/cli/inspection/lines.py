"""Lines of a terminal: prose that fits the width, columns that line up, and names and commands that are never cut."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

_GAP = 2


def printable(text: str) -> str:
    """The text with everything that a terminal would obey, or not show, as an escape of Python's."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text
    )


def prose(text: str, width: int | None, *, indent: int = 0, first: Text | None = None) -> list[Text]:
    """A sentence, broken between words to fit the width (None: not at all), its lines indented.

    `first` stands at the beginning of the first line, within the indent.
    """
    room = None if width is None else max(20, width - indent)
    clean = printable(text)
    parts = [clean] if room is None else textwrap.wrap(clean, room, break_long_words=False, break_on_hyphens=False)
    lines = [Text(" " * indent + part) for part in parts or [""]]
    if first is not None:
        lines[0] = _padded(first, indent, right=False) + Text((parts or [""])[0])
    return lines


def columns(rows: Sequence[Sequence[Text]], width: int | None, *, left: Sequence[int] = (0,)) -> list[Text]:
    """Rows of cells that line up; those of the columns in `left` to the left, numbers to the right.

    Where all is wider than the width, a first cell that is too long stands on a line of its own above its row.
    """
    sizes = [max(cell_len(cell.plain) for cell in column) for column in zip(*rows, strict=True)]
    others = sum(size + _GAP for size in sizes[1:])
    if width is not None:
        names = [cell_len(row[0].plain) for row in rows]
        sizes[0] = max((size for size in names if size <= width - others), default=names[0])
    lines: list[Text] = []
    for first, *rest in rows:
        start = first
        if cell_len(first.plain) > sizes[0]:
            lines.append(first)
            start = Text()
        cells = [
            _padded(cell, size, right=number not in left)
            for number, (cell, size) in enumerate(zip((start, *rest), sizes, strict=True))
        ]
        line = Text(" " * _GAP).join(cells)
        line.rstrip()
        lines.append(line)
    return lines


def _padded(cell: Text, size: int, *, right: bool) -> Text:
    blank = Text(" " * max(0, size - cell_len(cell.plain)))
    return blank + cell if right else cell + blank
