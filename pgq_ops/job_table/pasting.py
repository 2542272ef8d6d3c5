"""SQL as text to paste: one line, that means in psql what the fragment means, whatever is in its names and values."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psycopg import sql

_TOKEN = re.compile(
    r"""
    (?P<name> (?:[uU]&)? " (?:[^"]|"")* " )
    | (?P<escaped> (?<![\w$]) [eE] ' (?:[^'\\]|\\.|'')* ' )
    | (?P<text> (?:(?<![\w$])[uU]&)? ' (?:[^']|'')* ' )
    | (?P<dollars> (?<![\w$]) \$ (?P<tag> (?:[^\W\d]\w*)? ) \$ (?P<inside> .*? ) \$ (?P=tag) \$ )
    | (?P<comment> --[^\n]* | /\*.*?\*/ )
    | (?P<built_in> (?<![\w$.]) pg_catalog\. (?=[a-z0-9_]+\() )
    """,
    re.VERBOSE | re.DOTALL,
)
_BREAKS = str.maketrans("\n\r", "  ")
_SHORT = 0xFFFF
# Whether the character is beyond `_SHORT` -> how it is written.
_IN_NAMES = {False: "\\{:04X}", True: "\\+{:06X}"}
_IN_TEXTS = {False: "\\u{:04X}", True: "\\U{:08X}"}


def pasted(fragment: sql.Composable) -> str:
    """The fragment as text, each `%` once, on one line.

    What no terminal shows, and a line break before all, is written as an escape: in a name U&"..", in a text E'..'.
    A built-in function is written without its schema, and a comment is left out, for it would end with the line.
    """
    return _one_line(fragment.as_string(None).replace("%%", "%"))


# A finding that lasts has the same remedy at each look.
@lru_cache(maxsize=512)
def _one_line(whole: str) -> str:
    parts, end = [], 0
    for found in _TOKEN.finditer(whole):
        parts += [whole[end : found.start()].translate(_BREAKS), _token(found)]
        end = found.end()
    return "".join([*parts, whole[end:].translate(_BREAKS)])


def in_one_line(text: str) -> str:
    """A text for a comment: what no terminal shows, and a line break before all, as an escape of Python's."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text
    )


def _token(found: re.Match[str]) -> str:
    token = found[0]
    if found.lastgroup in {"comment", "built_in"}:
        return " " if found["comment"] else ""
    if token.isprintable():
        return token
    if found["name"] is not None or token[0] in "uU":
        quote = token[-1]
        body = token[3:-1] if token[0] in "uU" else token[1:-1].replace("\\", "\\\\")
        return f"U&{quote}{_escaped(body, _IN_NAMES)}{quote}"
    if found["escaped"] is not None:
        # Before anything but its own letters, a backslash means nothing.
        body = re.sub(
            r"\\(.)", lambda pair: pair[0] if pair[1].isprintable() else pair[1], token[2:-1], flags=re.DOTALL
        )
    elif found["dollars"] is not None:
        body = found["inside"].replace("\\", "\\\\").replace("'", "''")
    else:
        body = token[1:-1].replace("\\", "\\\\")
    return f"E'{_escaped(body, _IN_TEXTS)}'"


def _escaped(body: str, escape: dict[bool, str]) -> str:
    return "".join(char if char.isprintable() else escape[ord(char) > _SHORT].format(ord(char)) for char in body)
