"""What freezes a closed leaf for good: the next vacuum that comes, so that none has to come against wraparound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.tasks.autovacuum import figures
from pgq_ops.tasks.autovacuum.leaf_plan import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.tasks.autovacuum.basis import Leaf

# Of each row as soon as vacuum sees it; and it looks at all pages, not at those alone that changed.
PARAMETERS = ("autovacuum_freeze_min_age", "autovacuum_freeze_table_age")


def freezing(leaf: Leaf) -> Iterator[Wanted]:
    """Both ages at 0 where no row changes any more; elsewhere it would be work for nothing, as the row dies first."""
    if not leaf.is_closed:
        return
    for parameter in PARAMETERS:
        now = leaf.now(parameter)
        value = now if now is not None and figures.as_number(now) == 0 else "0"
        yield Wanted(parameter, value, "its rows stay as they are: frozen once, they are never read for it again", now)
