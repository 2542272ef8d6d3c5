"""An index of the claim is far larger than what it held at the queue's worst."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.leaf_words import MOST_NAMED
from pgq_ops.checks.pasted_sql import plain
from pgq_ops.checks.wording import indexes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.checks.look import Look
    from pgq_ops.stats.index_bloat import IndexBloat

_MEGABYTE = 1024**2

(INDEX_BLOAT,) = IDS = ("index-bloat",)
NEEDS = ("index_bloat",)


def check(look: Look) -> Iterator[Finding]:
    """Warning where its pages were looked at, info where the catalog alone tells."""
    if look.index_bloat:
        measured = any(one.measured for one in look.index_bloat)
        severity = Severity.WARNING if measured else Severity.INFO
        yield finding(look.index_bloat, severity, "with the most that it was seen to hold")


def finding(bloated: Sequence[IndexBloat], severity: Severity, when: str) -> Finding:
    """Of indexes that are too large; `when` says of which moment the entries are that they are judged by."""
    ranked = sorted(bloated, key=lambda one: one.needed_bytes - one.bytes)
    worst, others = ranked[0], len(ranked) - 1
    more = f"; so {'is' if others == 1 else 'are'} {indexes(others)} more" if others else ""
    about = "" if worst.measured else "about "
    return Finding(
        INDEX_BLOAT,
        severity,
        f"{worst.relation}, by which jobs are claimed, has {worst.bytes / _MEGABYTE:,.0f} MB and would have {about}"
        f"{worst.needed_bytes / _MEGABYTE:,.0f} MB anew, {when} ({worst.entries:,} entries): each vacuum reads all of"
        f" it{more}",
        {
            "bytes": {str(one.relation): one.bytes for one in ranked[:MOST_NAMED]},
            "needed_bytes": {str(one.relation): round(one.needed_bytes) for one in ranked[:MOST_NAMED]},
            "entries": {str(one.relation): one.entries for one in ranked[:MOST_NAMED]},
            "measured": {str(one.relation): one.measured for one in ranked[:MOST_NAMED]},
        },
        "\n".join(f"REINDEX INDEX CONCURRENTLY {plain(one.relation.sql)};" for one in ranked),
    )
