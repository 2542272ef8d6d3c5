"""Reads one job table, with the statements that the agent's probes use."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pgq_ops import sql
from pgq_ops.checks.look import DatabaseLook, Look
from pgq_ops.checks.registry import findings_of
from pgq_ops.cli.inspection.section import TOO_LONG, Section
from pgq_ops.cli.inspection.view import TableView
from pgq_ops.cli.inspection.vitals import TableVitals
from pgq_ops.db.connection import Limits, row_security
from pgq_ops.job_table.queue_labels import QueueLabels
from pgq_ops.scheduler.journal import NOTHING_EVERY_SECONDS
from pgq_ops.stats import agent_looks, dead_overview, index_support, leases, next_expiries, queue_depths, task_runs
from pgq_ops.stats.index_support import Question
from pgq_ops.stats.job_sample import CAP
from pgq_ops.stats.remembered import Remembered
from pgq_ops.stats.vacuum_keepers import VacuumKeepers

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.agent_looks import AgentLook
    from pgq_ops.stats.dead_overview import DeadOverview
    from pgq_ops.stats.depth import Depths
    from pgq_ops.stats.index_support import IndexSupport
    from pgq_ops.stats.leases import Leases
    from pgq_ops.stats.next_expiries import NextExpiry
    from pgq_ops.stats.task_runs import TaskRun

# Somebody waits: the whole answer is due within half a second (design.md §3). A scan of two million rows fits.
LOOK_LIMITS = Limits(statement_ms=250)
# Which indexes there are changes rarely, and asking takes longer than any look.
_SUPPORT_SECONDS = 60.0
# A pass that is missed may be chance, three are not.
_PASSES = 3

NO_LEASES = "no lease column is mapped"
NO_INDEX = "no index leads to the running jobs"
NO_INDEX_TO_DEAD = "no index leads to the dead jobs"


@dataclass(slots=True)
class TableReader:
    """Reads the table again and again, or once. With `thorough` also what no index makes cheap, up to the timeout.

    Each section has its own time (1 % of it at most) and its own failure; after a lock nothing else is tried in
    the same round. `section`: see `Look`. With `seconds` a round begins nothing once they are over, and does not ask
    the planner where for the table's many partitions this would take all of them. `clock()` is monotonic seconds.
    """

    table: JobTable
    thorough: bool = False
    section: str = ""
    seconds: float | None = None
    clock: Callable[[], float] = time.monotonic
    _labels: QueueLabels = field(default_factory=QueueLabels)
    _watermark: float | None = None
    _support: Section[IndexSupport] = field(init=False)
    _depths: Section[Depths] = field(init=False)
    _leases: Section[Leases] = field(init=False)
    _expiries: Section[tuple[NextExpiry, ...]] = field(init=False)
    _dead: Section[DeadOverview] = field(init=False)
    _runs: Section[tuple[TaskRun, ...] | None] = field(init=False)
    _agents: Section[tuple[AgentLook, ...] | None] = field(init=False)
    _vitals: TableVitals = field(init=False)
    _keepers: VacuumKeepers = field(default_factory=VacuumKeepers)

    def __post_init__(self) -> None:
        self._support = Section("indexes", self.clock)
        self._depths = Section("jobs", self.clock)
        self._leases = Section("leases", self.clock)
        self._expiries = Section("next_expiries", self.clock)
        self._dead = Section("dead_letters", self.clock)
        self._runs = Section("task_runs", self.clock)
        self._agents = Section("agents", self.clock)
        self._vitals = TableVitals(self.table, self.clock)
        self._labels.configure(policy.queue for policy in self.table.policies if policy.queue is not None)

    @property
    def outdated(self) -> bool:
        """Whether the table should be bound anew: it is not as it was."""
        return any(section.outdated for section in self._sections())

    def read(self, connection: Connection, database: DatabaseLook | None = None) -> TableView:
        """Look at what is due. Raises the driver's error where the connection is lost.

        `database`: what was read for all job tables together.
        """
        collected_at = moment(connection)
        if self.seconds is not None:
            until = self.clock() + self.seconds
            for section in self._sections():
                section.until = until
        self._vitals.read_counters(connection)
        self._runs.look(lambda: task_runs.read(connection, self.table))
        self._agents.look(lambda: agent_looks.read(connection, self.table))
        with row_security(connection, allowed=self.table.all_visible_policies):
            self._look_at_jobs(connection)
        self._look_at_dead_letters(connection)
        self._vitals.read_claims(connection, busy=self._depths.why if self._depths.busy else "")
        runs = self._runs.value
        shared = database or DatabaseLook()
        look = Look(
            self.table,
            self._depths.value,
            self._leases.value,
            self._support.value,
            is_reaping(self.table, runs),
            claim=self._vitals.claim.value,
            best_claim=self._vitals.best_claim,
            claim_statements=self._vitals.statements.value,
            ready_locked=self._vitals.locked.value,
            health=self._keepers.told(self._vitals.health.value, shared.horizon),
            database=shared,
            section=self.section,
        )
        sections = self._sections()
        return TableView(
            name=self.table.name,
            table=str(self.table),
            collected_at=collected_at,
            look=look,
            expiries=self._expiries.value,
            dead=self._dead.value,
            runs=runs,
            agents=self._agents.value,
            findings=findings_of(look),
            not_read={section.name: section.why for section in sections if section.why},
            ages={section.name: section.age_seconds for section in sections},
        )

    def _sections(self) -> tuple[Section[Any], ...]:
        own = (self._support, self._depths, self._leases, self._expiries, self._dead, self._runs, self._agents)
        return (*own, *self._vitals.sections())

    def _look_at_jobs(self, connection: Connection) -> None:
        if self._support.value is None or self._support.age_seconds >= _SUPPORT_SECONDS:
            within = math.inf if self.seconds is None else self.seconds
            self._support.look(lambda: index_support.read(connection, self.table, within_seconds=within))
        support = self._support.value
        if support is None:
            self._depths.skip(self._support.why)
        else:
            self._depths.look(lambda: self._read_depths(connection, support))
        if self._depths.busy or (support is None and self._support.why != TOO_LONG):
            self._leases.skip(self._depths.why)
            self._expiries.skip(self._depths.why)
            return
        if not (self.table.has_lease and "running" in self.table.states):
            self._leases.skip(NO_LEASES)
            self._expiries.skip(NO_LEASES)
        elif not (self.thorough or (support is not None and support.is_cheap(Question.RUNNING))):
            self._leases.skip(NO_INDEX)
            self._expiries.skip(NO_INDEX)
        else:
            self._leases.look(lambda: leases.read(connection, self.table))
            if self._leases.value is None:
                self._expiries.skip(self._leases.why)
            else:
                self._expiries.look(lambda: next_expiries.read(connection, self.table))

    def _look_at_dead_letters(self, connection: Connection) -> None:
        support = self._support.value
        if support is None or self._depths.busy:
            self._dead.skip(self._support.why or self._depths.why)
        elif "dead" in self.table.states and not (self.thorough or support.is_cheap(Question.DEAD)):
            self._dead.skip(NO_INDEX_TO_DEAD)
        else:
            self._dead.look(lambda: dead_overview.read(connection, self.table, support, most=CAP))

    def _read_depths(self, connection: Connection, support: IndexSupport) -> Depths:
        remembered = Remembered(self._labels.known(), self._watermark)
        depths = queue_depths.read(connection, self.table, support, remembered)
        self._watermark = depths.watermark or self._watermark
        self._labels.admit({queue.queue: queue.active for queue in depths.queues})
        return depths


def moment(connection: Connection) -> str:
    """Now, by the database's clock, as ISO 8601 in UTC."""
    return str(connection.execute(sql.statement("inspect/moment"), {}).fetchall()[0][0])


def is_reaping(table: JobTable, runs: tuple[TaskRun, ...] | None) -> bool | None:
    """Whether an agent takes expired leases back, by what it noted of its runs; None where it noted none."""
    last = next((run for run in runs or () if run.task == "reaper"), None)
    if last is None:
        return None
    every = max(policy.reaper.every.total_seconds() for policy in table.policies)
    return last.seconds_ago <= NOTHING_EVERY_SECONDS + _PASSES * every and last.outcome != "failed"
