"""Sessions that keep a transaction open over the job table while they do something else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class IdleHolder:
    """A session that took locks on the job table as for a change, and has been idle in its transaction since."""

    pid: int
    application_name: str
    user: str
    seconds: float


@dataclass(frozen=True, slots=True)
class IdleHolders:
    """Those there are now, the longest idle first. Without `visible`, those of this role alone.

    `hidden`: how many more hold locks there and do not tell whether they are idle.
    """

    sessions: tuple[IdleHolder, ...]
    visible: bool = True
    hidden: int = 0


def read(connection: Connection, table: JobTable) -> IdleHolders:
    """Look once. Raises the driver's errors."""
    rows = connection.execute(sql.statement("stats/idle_holders"), {"oid": table.relation.oid}).fetchall()
    sessions = tuple(IdleHolder(*row) for row in rows if row[0] is not None)
    without = {what: number for pid, what, _, number in rows if pid is None}
    return IdleHolders(sessions, visible="unseen" not in without, hidden=int(without.get("hidden") or 0))
