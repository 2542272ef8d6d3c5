"""Names in sentences and in SQL to paste."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.pasted_sql import plain
from pgq_ops.job_table.quoting import identifier

if TYPE_CHECKING:
    from collections.abc import Iterable

# A sentence names the first ones; evidence and remedy have all.
_MOST = 3


def listed(names: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b, c and 4 more`."""
    known = list(dict.fromkeys(names))
    if len(known) > _MOST:
        return f"{', '.join(known[:_MOST])} and {len(known) - _MOST} more"
    return " and ".join(filter(None, [", ".join(known[:-1]), known[-1]])) if known else ""


def quoted(*parts: str) -> str:
    """A quoted, possibly qualified name for a statement to paste."""
    return plain(identifier(*parts))
