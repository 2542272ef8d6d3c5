"""Whether the counters of a table that they have seen no vacuum or analyze of are to be believed."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

import psycopg

from pgq_ops import sql
from pgq_ops.db.failures import is_busy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.db.connection import Connection


class Trust(Enum):
    """What the counters are worth: `UNKNOWN` where rows may be there that come to be counted, or a lock is held."""

    TOLD = auto()
    UNKNOWN = auto()
    LOST = auto()


class File(NamedTuple):
    """The file of a table: its pages (None: not to be had without waiting); whether it may be loaded just now."""

    pages: int | None = None
    loading: bool = False


def read(connection: Connection, oids: Sequence[int]) -> dict[int, File]:
    """The files of these tables; none where a lock is in the way. Raises the driver's errors."""
    if not oids:
        return {}
    try:
        rows = connection.execute(sql.statement("stats/uncounted_tables"), {"oids": list(oids)}).fetchall()
    except psycopg.Error as error:
        if is_busy(error):
            return {}
        raise
    return {oid: File(pages, loading) for oid, pages, loading in rows}


def trust(rows: float, inserted: int, otherwise: int, file: File) -> Trust:
    """What the counters are worth, by the rows that the catalog knows of (-1: it was never told), else by the file.

    CREATE INDEX tells the catalog of rows too, which were counted as they came; not of an empty table. Half is far from
    both. Of a file, no page is there for less than one row version that was counted when it came, or when it went
    (`otherwise`: updates and deletions).
    """
    if rows >= 0:
        return Trust.LOST if inserted <= rows / 2 else Trust.TOLD
    if file.pages is not None and file.pages <= inserted + otherwise:
        return Trust.TOLD
    # Counters come when a transaction is over, up to ten seconds after, and a table may be loaded for the first time.
    return Trust.UNKNOWN if file.pages is None or file.loading else Trust.LOST
