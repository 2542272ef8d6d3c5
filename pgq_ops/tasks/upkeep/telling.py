"""Counts what upkeep does, and tells of it where that is news."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops import logs, metrics
from pgq_ops.tasks.upkeep.ending import VacuumFate

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.tasks.upkeep.ending import VacuumEnd
    from pgq_ops.tasks.upkeep.held import Held
    from pgq_ops.tasks.upkeep.need import Need, Why

VACUUMS = metrics.counter(
    "vacuums_total",
    "VACUUM and ANALYZE statements of the agent's own, by how they ended.",
    ("database", "job_table", "outcome"),
)

# A hot leaf is vacuumed each few seconds: one log line is enough for a while.
_AGAIN_SECONDS = 600.0

log = logs.get("upkeep")


@dataclass(slots=True)
class Telling:
    """Of one job table in one database."""

    database: str
    job_table: str
    clock: Callable[[], float] = time.monotonic
    _ran: dict[int, tuple[VacuumFate, Why, float]] = field(default_factory=dict)
    _held: str = ""

    def __post_init__(self) -> None:
        """The counters begin at 0, so that the first VACUUM is an increase."""
        for fate in VacuumFate:
            VACUUMS.labels(self.database, self.job_table, fate)

    def ran(self, need: Need, end: VacuumEnd) -> None:
        """Count a statement; in the log what is new for its table, the rest for whoever looks for a fault."""
        VACUUMS.labels(self.database, self.job_table, end.fate).inc()
        oid, now = need.order.relation.oid, self.clock()
        fate, why, at = self._ran.get(oid, (None, None, 0.0))
        known = fate is end.fate and why is need.why and now - at < _AGAIN_SECONDS
        if not known:
            self._ran[oid] = end.fate, need.why, now
        (log.debug if known else log.info)(
            "upkeep.ran",
            job_table=self.job_table,
            statement=str(end.order),
            outcome=str(end.fate),
            why=end.reason or need.reason,
            seconds=round(end.seconds, 2),
            removed=end.removed_rows,
            left=end.left_rows,
        )

    def held(self, need: Need, held: Held) -> None:
        """Count a VACUUM that is put off because it would remove too little; once for each who keeps the rows.

        After one in vain it is not known yet who that is: that one was counted itself.
        """
        if held.holder is not None and held.key != self._held:
            self._held = held.key
            VACUUMS.labels(self.database, self.job_table, VacuumFate.USELESS).inc()
            log.info("upkeep.put_off", job_table=self.job_table, statement=str(need.order), because=str(held))

    def let_go(self) -> None:
        """Nobody keeps any."""
        self._held = ""
