"""Who holds the row of one job locked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pgq_ops import sql
from pgq_ops.db.connection import row_security
from pgq_ops.stats import bounded
from pgq_ops.stats.job_life_selection import MOST, of_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

COLUMNS = ("xmax", "tableoid")
"""What the role must be able to read for it, beside the mapped columns."""


@dataclass(frozen=True, slots=True)
class RowLock:
    """The session, or the prepared transaction (`gid`), that holds a row locked or has changed it and not committed.

    `seconds` since its transaction began, `started` that moment in epoch seconds as text. `state`, `seconds` and
    `started` are None where the role may not see them. `superuser`: its role is one. `others`: how many more hold it.
    """

    pid: int | None
    application_name: str
    user: str | None
    state: str | None
    seconds: float | None
    started: str | None
    superuser: bool = False
    gid: str | None = None
    others: int = 0


def read(connection: Connection, table: JobTable, job: str) -> dict[str, RowLock]:
    """The locks on the jobs of that id by the rows' addresses (`JobLife.key`), of several holders the longest one.

    Raises the driver's errors; needs SELECT on `COLUMNS`.
    """
    selection = of_id(table, job)
    fragments = {"key_text": table.key_text(), "table": table.relation.sql, "condition": selection.condition}
    parameters = {**selection.parameters, "limit": MOST}
    with row_security(connection, allowed=table.all_visible_policies):
        rows, _ = bounded.read(connection, table, sql.statement("stats/job_lock", fragments), parameters)
    found = {str(key): _holder(connection, number, relation) for key, number, relation in rows}
    return {key: lock for key, lock in found.items() if lock is not None}


def _holder(connection: Connection, number: int, relation: int) -> RowLock | None:
    """Whoever stands behind what is in a row's xmax, if that still runs."""
    marks = {"numbers": [number], "relations": [relation]}
    running = connection.execute(sql.statement("stats/running_xids"), marks).fetchall()
    if not running:
        return None
    xids = [xid for _, _, xid in running]
    parameters = {"xids": xids, "relations": [relation] * len(xids)}
    # A transaction that holds it under several numbers, its savepoints', is one.
    holders = {
        own: session
        for _, *session, own in connection.execute(sql.statement("stats/row_lockers"), parameters).fetchall()
    }
    locks = sorted((_lock(session) for session in holders.values()), key=lambda lock: -(lock.seconds or 0.0))
    if not locks:
        return RowLock(None, "", None, None, None, None)
    return replace(locks[0], others=len(locks) - 1)


def _lock(session: Sequence[Any]) -> RowLock:
    pid, name, user, state, seconds, started, superuser = session
    gid = name if pid is None else None
    age = None if seconds is None else max(0.0, seconds)
    return RowLock(pid, "" if gid else name or "", user, state, age, started, bool(superuser), gid)
