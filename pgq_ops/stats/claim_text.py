"""What the text of a statement tells, as pg_stat_statements keeps it: whether it claims jobs of a table, and how."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.job_table.table import Relation

_LEADING = re.compile(r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
# A definition, a DO block or an EXPLAIN that holds a claim is none.
_QUERY = re.compile(r"(?:SELECT|WITH|UPDATE|DELETE|INSERT)\b", re.IGNORECASE)
_SKIPS = re.compile(r"\bSKIP\s+LOCKED\b", re.IGNORECASE)
_BEFORE_A_TABLE = r"(?:\b(?i:FROM|JOIN|UPDATE|ONLY)\s+|,\s*)"
_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*")
_PARAMETER = re.compile(r"\$(\d+)")


def claims_from(text: str, relation: Relation, *, bare_name: bool) -> bool:
    """Whether the statement takes rows of the table with SKIP LOCKED.

    `bare_name`: whether the name without a schema means this table.
    """
    if not _QUERY.match(text, _LEADING.match(text).end()) or not _SKIPS.search(text):  # type: ignore[union-attr]
        return False
    qualified = f"{_spelled(relation.schema)}\\s*\\.\\s*"
    schema = f"(?:{qualified})?" if bare_name else qualified
    return re.search(f'{_BEFORE_A_TABLE}{schema}{_spelled(relation.name)}(?![\\w$".])', text) is not None


def passes_as_parameter(texts: Sequence[str], column: str) -> bool:
    """Whether any of the statements certainly compares the column with a parameter rather than with a constant.

    Both are shown as `$n`. Constants get their numbers in the order of the text, each one its own, after the highest of
    a parameter: so whatever stands behind a higher number, or twice, and all below it, is a parameter.
    """
    name = _spelled(column)
    compared = re.compile(f'(?<![\\w$"]){name}\\s*(?:=|IN\\s*\\(|=\\s*ANY\\s*\\()\\s*\\$(\\d+)', re.IGNORECASE)
    return any(int(found.group(1)) <= _highest_parameter(text) for text in texts for found in compared.finditer(text))


def _highest_parameter(text: str) -> int:
    """The highest number that is certainly a parameter's; 0 for none."""
    highest = certain = 0
    for found in _PARAMETER.finditer(text):
        number = int(found.group(1))
        if number <= highest:
            certain = max(certain, number)
        highest = max(highest, number)
    return certain


def _spelled(name: str) -> str:
    """A pattern for the name as SQL may spell it: in quotes exactly; without, in any case."""
    quoted = re.escape('"' + name.replace('"', '""') + '"')
    return f"(?:{quoted}|(?i:{re.escape(name)}))" if _PLAIN.fullmatch(name) else quoted
