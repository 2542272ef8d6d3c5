"""What the text of a statement says: whether it claims jobs, what it changes of a table, and by what condition."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.job_table.table import Relation

_NOISE = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'", re.DOTALL)
_SKIP_LOCKED = re.compile(r"\bSKIP\s+LOCKED\b", re.IGNORECASE)
_CHANGE = re.compile(r"\b(UPDATE|DELETE\s+FROM|INSERT\s+INTO|MERGE\s+INTO)\b", re.IGNORECASE)
_FOR_UPDATE = re.compile(r"\bFOR\s+UPDATE\b", re.IGNORECASE)
_CLAUSE = re.compile(r"\b(WHERE|RETURNING)\b", re.IGNORECASE)
_LOCKED_BY = re.compile(r"\bFOR\s+(?:NO\s+KEY\s+)?$", re.IGNORECASE)


# What these hold they do not do: the body of a function, a plan that is only shown.
_NOT_DONE = frozenset({"create", "alter", "drop", "comment", "do", "explain"})


@dataclass(frozen=True, slots=True)
class Change:
    """An UPDATE (what it sets) or DELETE (which sets nothing) of the table, and its condition; both as plain text."""

    sets: str
    where: str
    deletes: bool


def without_values(text: str) -> str:
    """The statement on one line, without comments and texts: one that was evicted while it ran may still have them."""
    return " ".join(_NOISE.sub(lambda found: "'...'" if found[0].startswith("'") else " ", text).split())


def plain_text(text: str) -> str:
    """The statement without comments, texts and the quotes around names."""
    return _NOISE.sub(" ", text).replace('"', "")


def is_done(text: str) -> bool:
    """Whether the statement does what it says, rather than defining or explaining it."""
    first = plain_text(text).strip("( \r\n\t").split(maxsplit=1)
    return bool(first) and first[0].lower() not in _NOT_DONE


def is_claim(text: str) -> bool:
    """Whether it takes rows that nobody else holds."""
    return _SKIP_LOCKED.search(plain_text(text)) is not None


def only_selects(text: str) -> bool:
    """Whether it changes no table at all, so that a statement after it has to."""
    plain = plain_text(text)
    return not any(not _LOCKED_BY.search(plain[: found.start()]) for found in _CHANGE.finditer(plain))


def locks_for_update(text: str) -> bool:
    """Whether it locks rows against the key-share locks of foreign keys too."""
    return _FOR_UPDATE.search(plain_text(text)) is not None


def mentions(text: str, name: str) -> bool:
    """Whether the name stands in the text as a word of its own."""
    return re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text, re.IGNORECASE) is not None


def addresses(condition: str, name: str) -> bool:
    """Whether a condition picks rows by values of the column that the client gives, one or a list of them.

    Rows that a sub-select finds, such as those of a clean-up, are not addressed.
    """
    given = r"\(*\s*(?:ANY\s*\(+\s*(?:ARRAY\s*\[)?\s*)?\$\d"
    column = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    return (
        re.search(rf"{column}\s*(?:=|IN)\s*{given}|\$\d+\s*=\s*(?:\w+\.)?{column}", condition, re.IGNORECASE)
        is not None
    )


def changes(text: str, relation: Relation) -> Iterator[Change]:
    """Each UPDATE and DELETE of the table in the statement, those in its WITH included."""
    plain = plain_text(text)
    schema, table = (re.escape(name.replace('"', "")) for name in (relation.schema, relation.name))
    name = rf"(?:{schema}\s*\.\s*)?{table}(?![\w$.])"
    for found in re.finditer(rf"\b(UPDATE|DELETE\s+FROM)\s+(?:ONLY\s+)?{name}", plain, re.IGNORECASE):
        body = _until_closed(plain[found.end() :])
        sets, where = _clauses(body)
        deletes = found[1].upper() != "UPDATE"
        yield Change("" if deletes else sets, where, deletes)


def _until_closed(text: str) -> str:
    """The text up to the bracket that closes what it stands in."""
    depth = 0
    for position, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return text[:position]
    return text


def _clauses(body: str) -> tuple[str, str]:
    """What stands before WHERE, and after it until RETURNING; those of sub-selects are not meant."""
    cut = {"WHERE": len(body), "RETURNING": len(body)}
    for found in _CLAUSE.finditer(body):
        before = body[: found.start()]
        if before.count("(") == before.count(")"):
            cut[found[1].upper()] = min(cut[found[1].upper()], found.start())
    return body[: min(cut.values())], body[cut["WHERE"] + len("WHERE") : cut["RETURNING"]]
