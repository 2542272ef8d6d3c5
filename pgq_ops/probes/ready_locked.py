"""Ready jobs that no claim gets, since somebody holds them locked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops.errors import NotPermitted
from pgq_ops.metrics import Family
from pgq_ops.stats import ready_locked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from psycopg import sql as composing

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.metrics import Sample
    from pgq_ops.probes.memory import Memory
    from pgq_ops.stats.ready_locked import LockHolder

LOCKED = Family(
    "ready_locked",
    "How many of the first 100 ready jobs somebody holds locked right now; absent where they are not found in time, and"
    " where the role may not see it.",
    ("database", "job_table"),
)

# Where one claim takes so long, for dead rows in the way or without an index, this look would take as long again.
_DEAR_SECONDS = 0.03


@dataclass(slots=True)
class _Kept:
    """The statement of a table; which transactions held jobs at the last look (None: none was made), and since when."""

    table: JobTable
    look: composing.SQL
    xids: frozenset[int] | None = None
    since: dict[int, float] = field(default_factory=dict)


class ReadyLocked:
    """The probe. It has nothing to say where the claim's cost is not known, or the role may not see locks."""

    name = "ready_locked"
    families = (LOCKED,)
    every_seconds = 0.0

    def collect(self, connection: Connection, table: JobTable, memory: Memory) -> Iterable[Sample]:
        """Look once; leaves it in the memory."""
        memory.ready_locked = None
        rows, memory.ready_rows = memory.ready_rows, None
        if memory.claim is None or memory.claim.timed_out or (memory.claim.seconds or 0.0) > _DEAR_SECONDS:
            return []
        kept: _Kept | None = memory.kept.get(self.name)
        if kept is None or kept.table is not table:
            kept = memory.kept[self.name] = _Kept(table, ready_locked.look(table))
        try:
            seen = ready_locked.read(connection, table, composed=kept.look, rows=rows, lasting=kept.xids)
        except (errors.QueryCanceled, NotPermitted):
            return []
        if seen is None:
            return []
        kept.xids = seen.xids
        memory.ready_locked = replace(seen, holders=_since(kept, seen.holders, memory.now()))
        return [LOCKED.sample(seen.locked, memory.database, table.name)]


def _since(kept: _Kept, holders: Iterable[LockHolder], now: float) -> tuple[LockHolder, ...]:
    """The holders with for how long each has been seen to be one."""
    holders = tuple(holders)
    kept.since = {holder.xid: kept.since.get(holder.xid, now) for holder in holders}
    return tuple(replace(holder, seen_seconds=now - kept.since[holder.xid]) for holder in holders)
