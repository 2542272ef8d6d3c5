"""All that the agent does in one database: three sessions, a thread for each, and the jobs on them."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from pgq_ops import logs
from pgq_ops.agent.bindings import Bindings
from pgq_ops.agent.collecting import Collecting
from pgq_ops.agent.database_name import expected_database
from pgq_ops.agent.interrupting import until_idle
from pgq_ops.agent.leading import Leading
from pgq_ops.agent.maintaining import Maintaining
from pgq_ops.agent.recording import Recorder
from pgq_ops.agent.registry import LEADER, MAINTENANCE, PROBES, Surroundings
from pgq_ops.agent.task_jobs import TaskJobs
from pgq_ops.db.connection import LEADER_LIMITS, PROBE_LIMITS, Purpose
from pgq_ops.db.session import Session
from pgq_ops.db.wording import in_words
from pgq_ops.errors import ConfigError
from pgq_ops.exporter.collection import Collector
from pgq_ops.leader.leadership import Leadership
from pgq_ops.leader.pooler import refuse_shared_process
from pgq_ops.leader.settle import Settle
from pgq_ops.scheduler.footing import LeaderFooting
from pgq_ops.scheduler.journal import Journal
from pgq_ops.scheduler.supervisor import Supervisor
from pgq_ops.scheduler.timetable import Timetable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pgq_ops.agent.registry import TaskKind
    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.config.maintenance import Autovacuum
    from pgq_ops.exporter.store import Store

# A dead leader's session ends with its process, so the next one acts within this and one pass (performance.md: 5 s).
TICK = timedelta(seconds=2)
PRUNE = timedelta(hours=1)
# What is left of the time to stop, for the threads to notice that their connections were cut.
CUT_SECONDS = 2.0

log = logs.get("agent")


class Work:
    """The work of one configuration's database and mode.

    `failed` is called if the first look finds that nothing of the configuration fits the database; without it,
    that is logged, and the work waits until something does.
    """

    def __init__(
        self,
        loaded: LoadedConfig,
        kinds: Iterable[TaskKind],
        store: Store,
        failed: Callable[[ConfigError], None] | None = None,
    ) -> None:
        database = loaded.config.database
        self._loaded = loaded
        self._pending: LoadedConfig | None = None
        self._failed = failed
        self._job_errors: dict[str, str] = {}
        self._stopping = threading.Event()
        self.attempted = threading.Event()
        """Set once the database was looked at, or could not be."""
        # Past a transaction pooler, all: on its servers the settings of our sessions would reach the workers'.
        self._leader = Session(database, Purpose.LEADER, LEADER_LIMITS, direct=True, check=refuse_shared_process)
        self._probes = Session(database, Purpose.PROBES, PROBE_LIMITS, read_only=True, direct=True)
        self._timetable = Timetable((LEADER, PROBES, MAINTENANCE), self._job_failed)
        settle = Settle()
        leadership = Leadership(self._leader, loaded.config.agent.mode, settle)
        self._bindings = Bindings(loaded, must_fit=failed is not None)
        self._journal = Journal()
        self._recorder = Recorder(loaded.config.agent.mode)
        self._maintaining = Maintaining(loaded, leadership, self._probes, self._timetable, self._stopping.is_set)
        self._sessions = (self._leader, self._probes, self._maintaining.session)
        supervisors = {
            LEADER: Supervisor(LeaderFooting(self._leader, leadership), self._journal, self._stopping.is_set),
            MAINTENANCE: self._maintaining.supervisor,
        }
        self._leading = Leading(
            self._leader, leadership, self._bindings, expected_database(database), self._leadership_changed
        )
        self._leadership = leadership
        self._collector = Collector(self._probes, store, database=expected_database(database))
        surroundings = Surroundings(
            settled=settle.settled,
            observations=self._collector.observations,
            autovacuum=self._autovacuum,
            watch=self._maintaining.watching,
            database=lambda: self._leading.database,
            owner_role=lambda: self._loaded.config.database.owner_role,
        )
        tasks = tuple((kind, kind.make(surroundings)) for kind in kinds)
        self._jobs = TaskJobs(tasks, self._timetable, supervisors, self._bindings)
        self._collector.warn_after_seconds = loaded.config.transactions.warn_after.total_seconds()
        self._collecting = Collecting(
            self._probes,
            self._collector,
            leadership,
            self._bindings,
            self._jobs,
            self._recorder,
            self._stopping,
        )

    def start(self) -> None:
        """Begin; returns at once, whether or not the database can be reached."""
        self._timetable.every(TICK, "tick", LEADER, self._tick)
        self._timetable.every(TICK, "record", LEADER, self._record)
        self._timetable.every(PRUNE, "prune", LEADER, self._prune, spread=True)
        self._maintaining.start()
        self._timetable.every(self._loaded.config.agent.collect_every, "collect", PROBES, self._collecting.round)
        self._timetable.start()

    def configure(self, loaded: LoadedConfig) -> None:
        """Go on with a new configuration of the same database and mode. From any thread."""
        self._pending = loaded
        self._timetable.soon("tick")

    def clock_was_set_back(self) -> None:
        """The wall clock is behind what the timetable reckons with: go on now instead of waiting for it."""
        self._timetable.all_soon()

    def stop(self, seconds: float) -> bool:
        """End within so many seconds: statements are cancelled, then connections cut; leadership ends with them.

        Returns whether all threads have ended, so that the process can end in the ordinary way.
        """
        self._stopping.set()
        self._timetable.stop()
        begun = time.monotonic()
        until_idle(self._timetable, self._sessions, begun + seconds - CUT_SECONDS, Session.cancel)
        until_idle(self._timetable, self._sessions, begun + seconds, Session.abort)
        idle = not self._timetable.running()
        if idle:
            for session in self._sessions:
                session.close()
            self._leading.publish()
        self._jobs.withdraw()
        self._leading.withdraw()
        return idle

    def _tick(self) -> None:
        if self._pending is not None:
            self._loaded, self._pending = self._pending, None
            before = frozenset(self._bindings.names())
            self._bindings.configure(self._loaded)
            self._journal.look_again()
            self._recorder.look_again()
            self._collecting.leave(before.difference(self._bindings.names()))
            self._collector.warn_after_seconds = self._loaded.config.transactions.warn_after.total_seconds()
            collect_every = self._loaded.config.agent.collect_every
            self._timetable.every(collect_every, "collect", PROBES, self._collecting.round)
        try:
            self._leading.tick()
        except ConfigError as error:
            if self._failed is None:
                raise
            self._failed(error)
            return
        self._jobs.arrange(self._loaded.config, self._leading.database)
        self._export_others()
        self.attempted.set()

    def _export_others(self) -> None:
        """Of job tables that others lead nothing is exported; of those that cannot be looked at, just that."""
        names, bound = frozenset(self._bindings.names()), frozenset(self._bindings.tables())
        usable = bound if self._leading.reached else frozenset()
        self._collecting.unreachable(names - usable)
        self._collecting.leave(usable - self._leadership.led())

    def _leadership_changed(self, gained: frozenset[str], lost: frozenset[str]) -> None:
        self._collecting.leave(lost)
        self._jobs.soon(gained)
        self._timetable.soon("collect")

    def _record(self) -> None:
        connection = self._leadership.connection()
        if connection is None:
            return
        self._recorder.write(connection, self._leadership.led())
        for table, run in self._maintaining.supervisor.take_rested():
            if self._leadership.holds(table.name):
                self._journal.note(connection, table, run)

    def _autovacuum(self, name: str) -> Autovacuum | None:
        table = self._loaded.config.job_tables.get(name)
        return None if table is None else table.autovacuum

    def _prune(self) -> None:
        connection = self._leadership.connection()
        if connection is None or not self._leadership.led():
            return
        self._recorder.prune(connection)
        if self._loaded.config.agent.mode == "manage":
            self._journal.prune(connection)

    def _job_failed(self, name: str, error: Exception) -> None:
        text = in_words(error)
        if self._job_errors.get(name) != text:
            self._job_errors[name] = text
            log.error("agent.job_failed", job=name, error=text)
