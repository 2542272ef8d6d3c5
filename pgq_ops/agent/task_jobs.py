"""The tasks that are asked for, each on its job tables, as jobs of the thread that they run on."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from pgq_ops.agent.registry import DATABASE_TASKS, LEADER
from pgq_ops.scheduler.task_metrics import TaskMetrics
from pgq_ops.tasks.task import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pgq_ops.agent.bindings import Bindings
    from pgq_ops.agent.registry import TaskKind
    from pgq_ops.config.model import Config
    from pgq_ops.scheduler.supervisor import Supervisor
    from pgq_ops.scheduler.timetable import Timetable
    from pgq_ops.tasks.task import Result, Task

    Key = tuple[str, str]

# All runs together may take half of the time, so that each comes up at its interval. Within the bounds: shorter
# is not worth the start of a run, and during a longer one the tick and the other tables would wait.
SHARE = 0.5
SHORTEST, LONGEST = timedelta(milliseconds=100), timedelta(seconds=2)


@dataclass(slots=True)
class TaskJobs:
    """Which task runs where and when. `arrange` belongs to the leader's thread, a run to that of its supervisor.

    `supervisors`: by thread.
    """

    tasks: tuple[tuple[TaskKind, Task], ...]
    timetable: Timetable
    supervisors: Mapping[str, Supervisor]
    bindings: Bindings
    _for_database: dict[str, Task] = field(default_factory=dict)
    _intervals: dict[Key, timedelta] = field(default_factory=dict)
    _metrics: dict[Key, TaskMetrics] = field(default_factory=dict)
    _results: dict[Key, Result] = field(default_factory=dict)
    _arranged: tuple[str, int] | None = None

    def arrange(self, config: Config, database: str) -> None:
        """Bring the timetable in line with the config and with the tables that are bound."""
        if self._arranged == (database, self.bindings.changes):
            return
        self._arranged = database, self.bindings.changes
        self._for_database = {kind.section: kind.make(config) for kind in DATABASE_TASKS if kind.asked_for(config)}
        wanted = self._wanted(config)
        for key, interval in wanted.items():
            metrics = TaskMetrics(key[0], database, key[1])
            if self._intervals.get(key) != interval or self._metrics.get(key) != metrics:
                self._withdraw(key)
                metrics.declare(interval)
                self._metrics[key] = metrics
                run = partial(self._run, key)
                self.timetable.every(interval, _job(key), self._thread(key[0]), run, spread=True)
        for key in set(self._intervals) - set(wanted):
            self.timetable.drop(_job(key))
            self._withdraw(key)
        self._intervals = wanted

    def soon(self, names: Iterable[str]) -> None:
        """Run the tasks of these job tables now: they have just come under this agent."""
        for key in self._intervals:
            if key[1] in names:
                self.timetable.soon(_job(key))

    def is_asked_for(self, task: str, name: str) -> bool:
        """Whether a task runs on a job table."""
        return (task, name) in self._intervals

    def result(self, task: str, name: str) -> Result | None:
        """What a task's last run on a job table did, one before a lock included; None at first and after a failure."""
        return self._results.get((task, name))

    def withdraw(self) -> None:
        """Export nothing more."""
        for key in self._intervals:
            self._withdraw(key)
        self._intervals = {}

    def _wanted(self, config: Config) -> dict[Key, timedelta]:
        if config.agent.mode != "manage":
            return {}
        tables = self.bindings.tables()
        wanted = {
            (kind.key, name): kind.interval(config.job_tables[name])
            for kind, _ in self.tasks
            for name in tables
            if kind.section in config.job_tables[name].requested_tasks
        }
        # Whoever leads the first job table does what concerns the whole database, so that it is done once a round.
        for kind in DATABASE_TASKS:
            if tables and kind.section in self._for_database:
                wanted[kind.section, min(tables)] = kind.interval(config)
        return wanted

    def _task(self, name: str) -> Task:
        found = next((task for kind, task in self.tasks if kind.key == name), None)
        return self._for_database[name] if found is None else found

    def _thread(self, task: str) -> str:
        return next((kind.thread for kind, _ in self.tasks if kind.key == task), LEADER)

    def _run(self, key: Key) -> float | None:
        task, name = key
        table, interval = self.bindings.tables().get(name), self._intervals.get(key)
        if table is None or interval is None:
            return None
        thread = self._thread(task)
        beside = sum(self._thread(other) == thread for other, _ in list(self._intervals))
        budget = min(max(interval * SHARE / max(1, beside), SHORTEST), LONGEST)
        ran = self.supervisors[thread].run(self._task(task), table, interval, budget)
        if ran is None:
            return None
        if ran.rebind:
            self.bindings.rebind(name)
        if ran.result is not None:
            self._results[key] = ran.result
        elif ran.outcome is not Outcome.BUSY:
            self._results.pop(key, None)
        return ran.again_seconds

    def _withdraw(self, key: Key) -> None:
        self._results.pop(key, None)
        if metrics := self._metrics.pop(key, None):
            metrics.withdraw()


def _job(key: Key) -> str:
    return "/".join(key)
