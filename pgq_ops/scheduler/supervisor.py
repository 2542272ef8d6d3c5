"""Runs one task on one job table: measures it, counts how it ended, tells of failures, decides what comes next."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from psycopg.pq import TransactionStatus

from pgq_ops import logs
from pgq_ops.db.failures import is_busy, is_connection_loss
from pgq_ops.db.wording import in_words, tells_of_change
from pgq_ops.errors import DatabaseUnreachable
from pgq_ops.scheduler.guard import RunGuard
from pgq_ops.scheduler.task_metrics import TaskMetrics
from pgq_ops.schema.history import TaskRun
from pgq_ops.tasks.task import MayRest, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.scheduler.footing import Footing
    from pgq_ops.scheduler.journal import Journal
    from pgq_ops.tasks.task import Result, Task

# A failure that goes on is told of again after this long, so that it is found in any hour's log.
TELL_AGAIN_SECONDS = 3_600.0

log = logs.get("task")


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run ended. `again_seconds`: when to run next, None for the usual time; `rebind`: the table has changed."""

    outcome: Outcome
    result: Result | None = None
    again_seconds: float | None = None
    rebind: bool = False


@dataclass(slots=True)
class Supervisor:
    """Runs tasks over the connection of their footing, and only while that entitles them to act.

    Runs that need no connection are left for whoever records them over another one (`take_rested`).
    """

    footing: Footing
    journal: Journal
    stopping: Callable[[], bool]
    _rested: dict[tuple[str, str], tuple[JobTable, TaskRun]] = field(default_factory=dict)
    _told: dict[tuple[str, str], tuple[str, float]] = field(default_factory=dict)

    def run(self, task: Task, table: JobTable, interval: timedelta, budget: timedelta) -> Ran | None:
        """Run once, beginning no batch after `budget` but the first; None where this agent may not act.

        A run that its time ended goes on soon, after the other jobs of the thread had theirs. One that failed
        or met a lock comes again within its interval, at a random time.
        """
        database = self.footing.leads_in(table)
        if database is None or self.stopping():
            return None
        began, metrics = time.monotonic(), TaskMetrics(task.name, database, table.name)
        connection, guard, result, error = None, None, None, None
        try:
            if isinstance(task, MayRest) and (rest := task.rest(table)) is not None:
                return self._rest(task, table, rest, metrics, timedelta(seconds=time.monotonic() - began))
            connection = self.footing.take(table)
            if connection is None:
                return None
            guard = RunGuard(partial(self._may_act, connection, table), budget)
            result = task.run(connection, table, guard)
        except Exception as raised:  # noqa: BLE001 (a task that fails in whatever way does not stop the others)
            error = raised
        duration = timedelta(seconds=time.monotonic() - began)
        try:
            if error is not None and self.stopping():
                log.debug("task.interrupted", task=task.name, job_table=table.name, error=error)
                return None
            outcome = _outcome(result, error)
            metrics.ran(outcome, duration)
            self._tell(task, table, error if outcome is Outcome.FAILED else None)
            if connection is not None:
                self._tidy(connection, error)
                self._note(connection, table, TaskRun(task.name, outcome, duration, _message(result, error)))
        finally:
            if connection is not None:
                self.footing.give_back(connection, table)
        return Ran(outcome, result, _again(outcome, interval, guard, result), tells_of_change(error))

    def _rest(self, task: Task, table: JobTable, result: Result, metrics: TaskMetrics, duration: timedelta) -> Ran:
        """A run that nobody needed a connection for."""
        metrics.ran(result.outcome, duration)
        run = TaskRun(task.name, result.outcome, duration, _message(result, None))
        self._rested[table.name, task.name] = table, run
        return Ran(result.outcome, result, _again(result.outcome, duration, None, result))

    def take_rested(self) -> list[tuple[JobTable, TaskRun]]:
        """The last run of each task on a job table since the last call that needed no connection. For any thread."""
        taken, self._rested = self._rested, {}
        return list(taken.values())

    def _may_act(self, connection: Connection, table: JobTable) -> bool:
        """Whether the agent goes on, and the connection entitles it to."""
        return not self.stopping() and self.footing.may_act(connection, table)

    def _note(self, connection: Connection, table: JobTable, run: TaskRun) -> None:
        if not connection.closed:
            self.journal.note(connection, table, run)

    def _tidy(self, connection: Connection, error: Exception | None) -> None:
        """Give up a lost connection; end a transaction that a task left open."""
        if connection.closed or connection.broken or _is_loss(error):
            self.footing.discard()
        elif connection.info.transaction_status != TransactionStatus.IDLE:
            connection.rollback()

    def _tell(self, task: Task, table: JobTable, error: Exception | None) -> None:
        """Log a failure once, again when it changes or lasts for an hour, and its end."""
        key = table.name, task.name
        if error is None:
            if self._told.pop(key, None):
                log.info("task.recovered", task=task.name, job_table=table.name)
            return
        now, text = time.monotonic(), in_words(error)
        told, at = self._told.get(key, ("", 0.0))
        if text != told or now - at >= TELL_AGAIN_SECONDS:
            self._told[key] = text, now
            log.error("task.failed", task=task.name, job_table=table.name, error=text)


def _outcome(result: Result | None, error: Exception | None) -> Outcome:
    if result is not None:
        return result.outcome
    return Outcome.BUSY if any(is_busy(one) for one in _chain(error)) else Outcome.FAILED


def _message(result: Result | None, error: Exception | None) -> str:
    """What `inspect` shows of the run: one line."""
    if error is not None:
        return logs.masked(in_words(error))
    return "" if result is None else logs.masked(logs.one_line(result.message))


def _again(outcome: Outcome, interval: timedelta, guard: RunGuard | None, result: Result | None) -> float | None:
    again: float | None = getattr(result, "again_seconds", None)
    if again is not None:
        return again
    if outcome in (Outcome.BUSY, Outcome.FAILED):
        return interval.total_seconds() * random.uniform(0.5, 1)  # noqa: S311 (no secret)
    return 0.0 if guard is not None and guard.out_of_time and outcome is Outcome.OK else None


def _chain(error: BaseException | None) -> tuple[BaseException, ...]:
    """The error and the driver's own that it was made from."""
    return tuple(one for one in (error, error and error.__cause__) if one is not None)


def _is_loss(error: Exception | None) -> bool:
    return any(isinstance(one, DatabaseUnreachable) or is_connection_loss(one) for one in _chain(error))
