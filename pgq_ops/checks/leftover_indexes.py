"""Indexes that an interrupted CREATE or REINDEX CONCURRENTLY left: of no use, and maintained by every write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.leaf_words import MOST_NAMED
from pgq_ops.checks.pasted_sql import plain
from pgq_ops.checks.wording import counted
from pgq_ops.stats.leftover_indexes import is_of_reindex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look
    from pgq_ops.stats.index_states import IndexState

(LEFTOVER_INDEX,) = IDS = ("leftover-index",)
NEEDS = ("leftover_indexes",)


def check(look: Look) -> Iterator[Finding]:
    """Warning: they cost as much as any other index, and serve nobody."""
    left = look.leftover_indexes
    if not left:
        return
    first, others = left[0], len(left) - 1
    more = f", and so {'is' if others == 1 else 'are'} {counted(others, 'other')}" if others else ""
    whose = "REINDEX CONCURRENTLY" if is_of_reindex(first) else "CREATE INDEX CONCURRENTLY"
    yield Finding(
        LEFTOVER_INDEX,
        Severity.WARNING,
        f"{first.relation} is left over from a {whose} that came to no end{more}: no query can use it, and every write"
        " maintains it",
        {
            "indexes": [str(index.relation) for index in left[:MOST_NAMED]],
            "tables": sorted({".".join(index.table) for index in left[:MOST_NAMED]}),
            "left": len(left),
            "pages": sum(index.pages for index in left),
        },
        "\n".join(map(way_out, left)),
    )


def way_out(index: IndexState) -> str:
    """The statements, of which one is to be run."""
    name = plain(index.relation.sql)
    if is_of_reindex(index):
        return f"DROP INDEX CONCURRENTLY {name};"
    return f"-- to have it after all:\nREINDEX INDEX CONCURRENTLY {name};\n-- or else:\nDROP INDEX CONCURRENTLY {name};"
