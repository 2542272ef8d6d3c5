"""Whether vacuums go through the indexes, or leave their dead entries there, over which claims step.

A vacuum that finds dead rows on less than 2 % of the pages passes the indexes by (BYPASS_THRESHOLD_PAGES of
vacuumlazy.c), and counts the rows as removed all the same. No view tells it; two things do:

- One that is seen after it has gone through the indexes has not passed them by.
- One that has gone through them leaves in the catalog how many entries they hold. If the number is another one, and no
  ANALYZE was there, it has; if it is the same to the last entry although rows came or went for good, it has not. (An
  ANALYZE counts too, but not beside a vacuum, as one command or visit of autovacuum: analyze.c.)

So the answer is sure where vacuum was seen at it, and else as good as a coincidence of counts is rare.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.stats.table_health import LeafHealth

# The catalog's numbers have 24 bits; the sum over some indexes a few less.
_PRECISION = 2.0**-20


@dataclass(slots=True)
class IndexPasses:
    """Of one leaf, look after look.

    `skipped`: whether the last vacuum that removed rows left the entries in the indexes; None: that is not known.
    `_rows`: inserted less deleted, when the indexes' entries were last seen to be counted (None: not yet).
    """

    skipped: bool | None = None
    _went_through: bool = False
    _rows: int | None = None

    def look(self, before: LeafHealth, after: LeafHealth, *, removed: bool) -> None:
        """Go on from one look to the next; `removed`: a vacuum ended between them that removed rows."""
        counted = after.index_entries != before.index_entries
        analyzed = after.last_analyze != before.last_analyze
        if removed:
            if self._went_through or (counted and not analyzed):
                self.skipped = False
            elif not counted and self._rows_changed(after):
                self.skipped = True
            else:
                self.skipped = None
        if counted:
            self._rows = _rows(after)
        if after.progress is None or after.vacuums != before.vacuums:
            self._went_through = False
        if after.progress is not None and after.progress.relation == after.oid:
            self._went_through |= after.progress.index_passes > 0

    def _rows_changed(self, leaf: LeafHealth) -> bool:
        return self._rows is not None and abs(_rows(leaf) - self._rows) > leaf.index_entries * _PRECISION


def _rows(leaf: LeafHealth) -> int:
    return leaf.inserted - leaf.deleted
