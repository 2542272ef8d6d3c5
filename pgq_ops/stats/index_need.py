"""How large a B-tree has to be for what it holds (PostgreSQL: itup.h, nbtree.h, bufpage.h)."""

from __future__ import annotations

import math

# Header of an index tuple, with and without a bitmap of its NULLs, and the pointer to it in the page.
_HEADER, _HEADER_WITH_NULLS, _POINTER = 8, 16, 4
# Header of a page, and what a B-tree keeps in each.
_PAGE_HEADER, _PAGE_OPAQUE = 24, 16
# What tuples are rounded up to.
_ALIGNED = 8


def pages(entries: float, entry_bytes: float, *, nullable: bool, fill: float, page_bytes: int) -> float:
    """The pages of a new index with so many entries of so many bytes each; `fill`: the share of a page that is filled.

    Entries that are equal take less, since they are stored as one (deduplication): that is left out.
    """
    header = _HEADER_WITH_NULLS if nullable else _HEADER
    entry = _POINTER + _ALIGNED * math.ceil((header + entry_bytes) / _ALIGNED)
    usable = page_bytes - _PAGE_HEADER - _PAGE_OPAQUE
    # One entry more a page: the first of the next one.
    a_page = max(1.0, usable * fill / entry - 1)
    leaves = math.ceil(max(0.0, entries) / a_page)
    return 1 + leaves + math.ceil(leaves / a_page)
