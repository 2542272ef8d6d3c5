"""The switches of VACUUM: whether it cleans the indexes each time, and whether it cuts off empty pages at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.tasks.autovacuum import figures
from pgq_ops.tasks.autovacuum.leaf_plan import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.tasks.autovacuum.basis import Leaf

CLEANUP, TRUNCATE = "vacuum_index_cleanup", "vacuum_truncate"

# With dead rows on fewer of the pages VACUUM leaves the indexes alone (vacuumlazy.c, BYPASS_THRESHOLD_PAGES).
BYPASSED_SHARE = 0.02


def switches(leaf: Leaf, threshold: float) -> Iterator[Wanted]:
    """`threshold`: the dead rows after which autovacuum comes. For a closed leaf neither matters."""
    if leaf.is_closed:
        return
    share = threshold / leaf.most_rows if leaf.most_rows else 1.0
    if leaf.basis.runs.skipped_indexes:
        yield switch(leaf, CLEANUP, "on", "the last vacuum left dead entries in the indexes, and claims step over them")
    elif share <= BYPASSED_SHARE:
        reason = (
            f"{figures.rows(threshold)} dead rows are {share:.2%} of {figures.rows(leaf.most_rows)}: on less than 2 %"
            " of the pages VACUUM would leave the indexes alone, which claims read"
        )
        yield switch(leaf, CLEANUP, "on", reason)
    if leaf.basis.parameters.truncates or leaf.now(TRUNCATE) is not None:
        yield switch(leaf, TRUNCATE, "off", "cutting off empty pages locks out all claims, and the queue fills again")


def switch(leaf: Leaf, parameter: str, value: str, reason: str) -> Wanted:
    """A switch, however the present value is written."""
    now = leaf.now(parameter)
    return Wanted(parameter, now if now is not None and figures.as_switch(now) == value else value, reason, now)
