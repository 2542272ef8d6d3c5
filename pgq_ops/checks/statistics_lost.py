"""Nobody knows how many dead rows there are: the statistics were lost, and autovacuum counts from zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.leaf_words import MOST_NAMED, named, vacuum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look

(STATISTICS_LOST,) = IDS = ("statistics-lost",)
NEEDS = ("table",)


def check(look: Look) -> Iterator[Finding]:
    """A warning; info where nothing was written since, so that no rows die there unseen."""
    lost = [leaf for leaf in look.health.leaves if leaf.lost] if look.health is not None else []
    if not lost:
        return
    written = [leaf for leaf in lost if leaf.inserted or leaf.updated or leaf.deleted]
    yield Finding(
        STATISTICS_LOST,
        Severity.WARNING if written else Severity.INFO,
        f"the statistics of {named(written or lost)} were lost, as in a crash or a reset: how many dead rows there are"
        " is not known, and autovacuum counts from zero",
        {
            "tables": [str(leaf.relation) for leaf in lost[:MOST_NAMED]],
            "lost": len(lost),
            "written_since": len(written),
        },
        vacuum(look, lost, "ANALYZE"),
    )
