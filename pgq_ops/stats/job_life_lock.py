"""Who holds the row of one job locked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.db.connection import row_security
from pgq_ops.stats import bounded
from pgq_ops.stats.job_life_selection import MOST, of_id

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class RowLock:
    """The session, or the prepared transaction (`gid`), that holds a row locked or has changed it and not committed.

    `seconds` since its transaction began, `started` that moment in epoch seconds as text. `state`, `seconds` and
    `started` are None where the role may not see them. `superuser`: its role is one.
    """

    pid: int | None
    application_name: str
    user: str | None
    state: str | None
    seconds: float | None
    started: str | None
    superuser: bool = False
    gid: str | None = None


def read(connection: Connection, table: JobTable, job: str) -> dict[str, RowLock]:
    """The locks on the jobs of that id by the rows' addresses (`JobLife.key`).

    Raises the driver's errors; needs SELECT on the system column xmax too.
    """
    selection = of_id(table, job)
    fragments = {"key_text": table.key_text(), "table": table.relation.sql, "condition": selection.condition}
    parameters = {**selection.parameters, "limit": MOST}
    with row_security(connection, allowed=table.all_visible_policies):
        rows, _ = bounded.read(connection, table, sql.statement("stats/job_lock", fragments), parameters)
    return {
        str(key): RowLock(
            pid,
            application or "",
            user if gid is None else owner,
            state,
            seconds if gid is None else prepared,
            started,
            bool(superuser),
            gid,
        )
        for key, pid, application, user, superuser, state, seconds, started, gid, owner, prepared in rows
    }
