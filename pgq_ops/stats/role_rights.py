"""What the role that pgq-ops is connected as may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.job_table.changes import written_columns

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

_MAINTAIN_SINCE = 170_000


@dataclass(frozen=True, slots=True)
class RoleRights:
    """The role, and which tiers (`pgq-ops grants`) its rights on the job table suffice for; `observe` is taken as read.

    `monitors`: it sees other sessions and statements. `owns`: it may act as the table's owner.
    """

    role: str
    superuser: bool
    monitors: bool
    reaps: bool
    purges: bool
    vacuums: bool
    owns: bool


def read(connection: Connection, table: JobTable) -> RoleRights:
    """Ask the catalog. Raises the driver's errors."""
    parameters = {
        "oid": table.relation.oid,
        "written": list(written_columns(table)),
        "maintain": connection.info.server_version >= _MAINTAIN_SINCE,
        "maintain_name": "MAINTAIN" if connection.info.server_version >= _MAINTAIN_SINCE else "SELECT",
    }
    [row] = connection.execute(sql.statement("stats/role_rights"), parameters).fetchall()
    return RoleRights(*row)
