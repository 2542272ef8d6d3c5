"""What an UPDATE assigns to a column, by its text as pg_stat_statements keeps it: constants are `$1`."""

from __future__ import annotations

import re

_SET = re.compile(r"\bSET\b", re.IGNORECASE)
_FROM = re.compile(r"\bFROM\b", re.IGNORECASE)
_NOTHING = re.compile(r"\(?\s*(?:NULL|DEFAULT)\s*\)?", re.IGNORECASE)
_GIVEN = re.compile(r"\(*\s*(?:CAST\s*\(\s*)?\$\d+\s*(?:(?:::\s*|\bAS\b)[\w\s.\[\]]+)?\)*", re.IGNORECASE)


def assigned(sets: str, column: str) -> str | None:
    """The expression that the column is set to; None where it is not set, by itself or in a list of columns.

    `sets`: what stands before the WHERE of an UPDATE, as plain text (see `statement_text.Change`).
    """
    found = _SET.search(sets)
    if found is None:
        return None
    for target, expression in map(_sides, _parts(sets[found.end() :])):
        names = [name.strip().lower() for name in target.strip("() \n").split(",")]
        if column.lower() not in names:
            continue
        values = [expression] if len(names) == 1 else _parts(_inside(expression))
        return values[names.index(column.lower())].strip() if len(values) == len(names) else expression
    return None


def is_nothing(expression: str) -> bool:
    """Whether it empties the column."""
    return _NOTHING.fullmatch(expression.strip()) is not None


def is_given(expression: str) -> bool:
    """Whether it is a value that the text no longer tells, NULL included."""
    return _GIVEN.fullmatch(expression.strip()) is not None


def _sides(assignment: str) -> tuple[str, str]:
    target, _, expression = assignment.partition("=")
    return target, expression.strip()


def _inside(row: str) -> str:
    bare = re.sub(r"^\s*ROW\b", "", row, flags=re.IGNORECASE).strip()
    return bare[1:-1] if bare.startswith("(") and bare.endswith(")") else bare


def _parts(text: str) -> list[str]:
    """What commas separate outside brackets, up to a FROM outside of them."""
    parts: list[str] = []
    depth = begin = 0
    for position, character in enumerate(text):
        depth += {"(": 1, ")": -1, "[": 1, "]": -1}.get(character, 0)
        if depth == 0 and character in "Ff" and _FROM.match(text, position) and not text[position - 1].isalnum():
            return [*parts, text[begin:position]]
        if depth == 0 and character == ",":
            parts.append(text[begin:position])
            begin = position + 1
    return [*parts, text[begin:]]
