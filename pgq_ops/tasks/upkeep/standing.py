"""Whether a table may be vacuumed, as whom, and what the statistics have of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import Relation

_MAINTAIN_SINCE = 170_000
# Values of a text of the same place on each version: the name is looked up only where the server has it.
_ANY_PRIVILEGE = "SELECT"
# Of TOAST rows, which only long values have, so many dead ones and so large a share are worth the time.
_TOAST_ROWS, _TOAST_SHARE = 1_000, 0.1


@dataclass(frozen=True, slots=True)
class Standing:
    """`role`: who may, and whom to be for it (None: nobody). `vacuums`, `analyzes`: by hand, so far.

    `toast`: whether its TOAST table has enough dead rows to be vacuumed too.
    """

    role: str | None
    owner: str
    vacuums: int
    analyzes: int
    dead_rows: int
    toast: bool


def read(connection: Connection, relation: Relation, owner_role: str | None) -> Standing | None:
    """Ask the catalog; None where the table is not there any more. Raises the driver's errors."""
    knows_maintain = connection.info.server_version >= _MAINTAIN_SINCE
    parameters = {
        "oid": relation.oid,
        "schema": relation.schema,
        "name": relation.name,
        "roles": [connection.info.user, *([owner_role] if owner_role else [])],
        "maintain": knows_maintain,
        "maintain_name": "MAINTAIN" if knows_maintain else _ANY_PRIVILEGE,
    }
    row = connection.execute(sql.statement("vacuum/standing"), parameters).fetchone()
    if row is None:
        return None
    role, owner, vacuums, analyzes, dead, toast_dead, toast_live = row
    toast = toast_dead >= _TOAST_ROWS and toast_dead >= _TOAST_SHARE * (toast_dead + toast_live)
    return Standing(role, owner, vacuums, analyzes, dead, toast)


def grant(connection: Connection, relation: Relation, owner: str) -> str:
    """What would permit it, as SQL to paste."""
    role = pasted(identifier(connection.info.user))
    if connection.info.server_version >= _MAINTAIN_SINCE:
        return f"GRANT MAINTAIN ON TABLE {pasted(relation.sql)} TO {role};"
    return f"GRANT {pasted(identifier(owner))} TO {role};"
