"""The maintenance session: opened for what takes long, watched while it does, and closed when nobody needs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from pgq_ops.agent.registry import MAINTENANCE, PROBES
from pgq_ops.agent.watching import Watching
from pgq_ops.db.connection import MAINTENANCE_LIMITS, Purpose
from pgq_ops.db.session import Session
from pgq_ops.leader.pooler import refuse_shared_process
from pgq_ops.scheduler.journal import Journal
from pgq_ops.scheduler.maintenance import MaintenanceFooting
from pgq_ops.scheduler.supervisor import Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.leader.leadership import Leadership
    from pgq_ops.scheduler.timetable import Timetable

# How often it is looked whether anybody still needs the session.
REST = timedelta(seconds=5)


@dataclass(slots=True)
class Maintaining:
    """What runs on the maintenance thread, and the watch over it, which looks over the `probes` session."""

    loaded: LoadedConfig
    leadership: Leadership
    probes: Session
    timetable: Timetable
    stopping: Callable[[], bool]
    session: Session = field(init=False)
    footing: MaintenanceFooting = field(init=False)
    supervisor: Supervisor = field(init=False)
    watching: Watching = field(init=False)

    def __post_init__(self) -> None:
        """No connection is made before somebody needs one."""
        config = self.loaded.config
        self.session = Session(
            config.database, Purpose.MAINTENANCE, MAINTENANCE_LIMITS, direct=True, check=refuse_shared_process
        )
        self.footing = MaintenanceFooting(self.session, self.leadership, config.agent.mode)
        # Another thread's journal is another one: it writes over its own session.
        self.supervisor = Supervisor(self.footing, Journal(), self.stopping)
        self.watching = Watching(self.probes, self.leadership, self.timetable, PROBES)
        self.probes.between = self.watching.look

    def start(self) -> None:
        """Begin to look whether the session is needed."""
        self.timetable.every(REST, "rest", MAINTENANCE, self.rest)

    def rest(self) -> None:
        """Close the session where nobody needs it; a follower has none. For the maintenance thread."""
        if self.leadership.led():
            self.footing.rest()
        else:
            self.session.close()
