"""The roles that can work a job table, and the settings that their sessions begin with."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.job_table.changes import written_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

SETTINGS = (
    "client_connection_check_interval",
    "default_transaction_isolation",
    "default_transaction_read_only",
    "idle_in_transaction_session_timeout",
    "listen_addresses",
    "synchronous_commit",
    "tcp_keepalives_count",
    "tcp_keepalives_idle",
    "tcp_keepalives_interval",
    "track_counts",
    "transaction_timeout",
)
# The units of PostgreSQL's settings of time, in seconds.
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d)?\s*")


@dataclass(frozen=True, slots=True)
class RoleSetting:
    """One setting as it was written. `source`: `role in database`, `role`, `database`, `all roles` or `server`.

    `value` is None where only the server's own would count and it cannot be told. `unit`: of a number without one.
    """

    value: str | None
    unit: str
    source: str

    @property
    def seconds(self) -> float | None:
        """A duration; None where the value is not known or none."""
        found = _DURATION.fullmatch(self.value or "")
        return None if found is None else float(found[1]) * _UNITS.get(found[2] or self.unit, 1.0)


@dataclass(frozen=True, slots=True)
class WorkerRole:
    """A role that may log in and update the job table.

    `sees_all_rows`: no row-level security applies to it. `policies`: commands with a permissive policy for it (`*`,
    `r`, `a`, `w`, `d`).
    """

    name: str
    superuser: bool
    sees_all_rows: bool
    policies: frozenset[str]
    settings: Mapping[str, RoleSetting] = field(default_factory=dict)


def read(connection: Connection, table: JobTable) -> tuple[WorkerRole, ...]:
    """Those roles, the ones with most sessions first. Raises the driver's errors."""
    whose = {"oid": table.relation.oid, "written": list(written_columns(table))}
    roles = connection.execute(sql.statement("stats/worker_roles"), whose).fetchall()
    parameters = {"roles": [oid for oid, *_ in roles], "names": list(SETTINGS)}
    rows = connection.execute(sql.statement("stats/role_settings"), parameters).fetchall()
    settings: dict[int, dict[str, RoleSetting]] = {}
    for oid, name, unit, value, source in rows:
        settings.setdefault(oid, {})[name] = RoleSetting(value, unit, source)
    return tuple(
        WorkerRole(name, superuser, sees_all, frozenset(policies), settings.get(oid, {}))
        for oid, name, superuser, sees_all, policies in roles
    )
