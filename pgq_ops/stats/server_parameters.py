"""The server's settings that hold for a table without storage parameters of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops import sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.db.connection import Connection

# Where autovacuum's own is -1, the one of every VACUUM holds. Milliseconds; points for pages read and dirtied.
_FALLBACK = {
    "autovacuum_vacuum_cost_delay": "vacuum_cost_delay",
    "autovacuum_vacuum_cost_limit": "vacuum_cost_limit",
}
# PostgreSQL's own values, in rows, shares of the table's rows, milliseconds and points.
_DEFAULTS = {
    "autovacuum_vacuum_threshold": "50",
    "autovacuum_vacuum_scale_factor": "0.2",
    "autovacuum_vacuum_insert_threshold": "1000",
    "autovacuum_vacuum_insert_scale_factor": "0.2",
    "autovacuum_analyze_threshold": "50",
    "autovacuum_analyze_scale_factor": "0.1",
    "autovacuum_vacuum_cost_delay": "2",
    "autovacuum_vacuum_cost_limit": "-1",
    "vacuum_cost_delay": "0",
    "vacuum_cost_limit": "200",
    "autovacuum_vacuum_max_threshold": "-1",
    "vacuum_truncate": "on",
}


@dataclass(frozen=True, slots=True)
class ServerParameters:
    """The values by name, as texts; the default is a server as PostgreSQL comes.

    `chosen`: those that are not what PostgreSQL comes with. `version`: as the driver has it, such as 180000.
    """

    version: int = 180000
    values: Mapping[str, str] = field(default_factory=dict)
    chosen: frozenset[str] = frozenset()

    def number(self, name: str) -> float:
        """The value that holds; of one that the version lacks, what it does without."""
        value = float(self.values.get(name, _DEFAULTS[name]))
        return self.number(_FALLBACK[name]) if value < 0 and name in _FALLBACK else value

    @property
    def has_highest_threshold(self) -> bool:
        """Whether there is `autovacuum_vacuum_max_threshold` (from 18 on)."""
        return self.version >= 180000  # noqa: PLR2004 (a version)

    @property
    def truncates(self) -> bool:
        """Whether VACUUM cuts off empty pages at the end of a table that says nothing of it."""
        return self.values.get("vacuum_truncate", _DEFAULTS["vacuum_truncate"]) == "on"


def read(connection: Connection) -> ServerParameters:
    """Read them once. Raises the driver's errors."""
    rows = connection.execute(sql.statement("stats/server_parameters"), {"names": list(_DEFAULTS)}).fetchall()
    values = {name: value for name, value, _ in rows}
    chosen = frozenset(name for name, _, is_chosen in rows if is_chosen)
    return ServerParameters(connection.info.server_version, values, chosen)
