"""Indexes that nobody can use and every write maintains: left by a CREATE or REINDEX CONCURRENTLY that came to no end.

Not one that somebody makes or drops now, nor a partitioned table's that waits for its parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.stats import index_states

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.index_states import IndexState

_OF_REINDEX = ("_ccnew", "_ccold")


def read(connection: Connection, table: JobTable) -> tuple[IndexState, ...]:
    """Those on the job table and its partitions, by name. Raises the driver's errors."""
    known = index_states.read(connection, table).indexes
    return tuple(index for index in known if not index.valid and not index.building and not index.attachable)


def is_of_reindex(index: IndexState) -> bool:
    """Whether REINDEX left it: by the name that it gives (with a number where that was taken; PostgreSQL: REINDEX)."""
    return index.relation.name.rstrip("0123456789").endswith(_OF_REINDEX)
