"""What autovacuum goes by: the server's settings, and a table's storage parameters, which win over them.

The rules are PostgreSQL's own (autovacuum.c: extract_autovac_opts, relation_needs_vacanalyze).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from pgq_ops import sql
from pgq_ops.stats import bounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from psycopg import sql as composing

_PREFIX = "autovacuum_"


@dataclass(frozen=True, slots=True)
class VacuumSettings:
    """When autovacuum comes to a table; the defaults are PostgreSQL's.

    `enabled`: whether it comes for dead rows at all. `threshold` and `max_threshold` (below 0: no highest) in rows. It
    comes whatever is set once an age exceeds `freeze_max_age` (transactions) or `multixact_freeze_max_age`.
    """

    enabled: bool = True
    threshold: float = 50
    scale_factor: float = 0.2
    max_threshold: float = -1
    freeze_max_age: int = 200_000_000
    multixact_freeze_max_age: int = 400_000_000

    def of_table(self, parameters: Sequence[str] | None) -> VacuumSettings:
        """Those of a table with these storage parameters (`name=value`, as pg_class has them), on this server."""
        if not parameters:
            return self
        own = dict(parameter.partition("=")[::2] for parameter in parameters)
        multixact = _number(own, "multixact_freeze_max_age", self.multixact_freeze_max_age)
        return VacuumSettings(
            self.enabled and not _is_off(own.get(_PREFIX + "enabled", "on")),
            _number(own, "vacuum_threshold", self.threshold),
            _number(own, "vacuum_scale_factor", self.scale_factor),
            _number(own, "vacuum_max_threshold", self.max_threshold),
            int(min(_number(own, "freeze_max_age", self.freeze_max_age), self.freeze_max_age)),
            int(min(multixact, self.multixact_freeze_max_age)),
        )

    def threshold_rows(self, rows: float) -> float:
        """The dead rows beyond which autovacuum comes to a table of so many rows (reltuples; below 0: not known)."""
        due = self.threshold + self.scale_factor * max(rows, 0.0)
        return due if self.max_threshold < 0 else min(due, self.max_threshold)


DEFAULTS = VacuumSettings()


@dataclass(frozen=True, slots=True)
class ServerAutovacuum:
    """The server's autovacuum. `settings` are those of a table without parameters of its own.

    `on`, `counting`: the settings `autovacuum` and `track_counts`, without which it does not work. `naptime_seconds`:
    between two visits. On a standby (`standby`) there is neither autovacuum nor any counting.
    """

    on: bool = True
    counting: bool = True
    standby: bool = False
    naptime_seconds: float = 60.0
    page_bytes: int = 8192
    settings: VacuumSettings = DEFAULTS

    @property
    def counts(self) -> bool:
        """Whether the rows that are written here are counted."""
        return self.counting and not self.standby


DEFAULT_SERVER = ServerAutovacuum()


@cache
def look() -> composing.SQL:
    """The look at the server's settings."""
    return bounded.composed_once(sql.statement("stats/autovacuum_settings"))


def parsed(row: tuple[Any, ...]) -> ServerAutovacuum:
    """What the look returned."""
    server = ServerAutovacuum(*row[:5])
    return replace(server, settings=VacuumSettings(server.on and server.counting, *row[5:]))


def _number(parameters: Mapping[str, str], name: str, default: float) -> float:
    """A numeric parameter. PostgreSQL keeps it as it was written, `0x10` too."""
    text = parameters.get(_PREFIX + name)
    if text is None:
        return default
    try:
        return float(text)
    except ValueError:
        return float(int(text, 0))


def _is_off(text: str) -> bool:
    """Whether PostgreSQL reads the text as false: it takes any beginning of `false` and `no`, and `of`."""
    word = text.strip().lower()
    return "false".startswith(word) or "no".startswith(word) or word in {"off", "of", "0"}
