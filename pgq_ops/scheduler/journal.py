"""Keeps the last run of each task in the `pgq_ops` schema, where that is installed."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.scheduler.own_schema import OwnSchema
from pgq_ops.schema import history
from pgq_ops.tasks.task import Outcome

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

# `inspect` shows when a task last ran: a minute is near enough, and an idle agent should write next to nothing.
NOTHING_EVERY_SECONDS = 60.0


@dataclass(slots=True)
class Journal:
    """Records runs over the leader's connection. Nothing that goes wrong here fails the task."""

    _noted: dict[tuple[str, str], tuple[Outcome, str, float]] = field(default_factory=dict)
    _schema: OwnSchema = field(default_factory=lambda: OwnSchema("the runs of tasks", history.RUNS_SINCE))

    def note(self, connection: Connection, table: JobTable, run: history.TaskRun) -> None:
        """Record a run; one with nothing to do, and nothing new to say, at most once a minute."""
        now = time.monotonic()
        outcome, key = Outcome(run.outcome), (table.name, run.task)
        last, message, at = self._noted.get(key, (None, "", 0.0))
        if outcome is last is Outcome.NOTHING and run.message == message and now - at < NOTHING_EVERY_SECONDS:
            return
        if self._schema.write(connection, lambda: history.record_run(connection, table, run)):
            self._noted[key] = outcome, run.message, now

    def look_again(self) -> None:
        """Look for the schema at the next run: somebody may have reloaded the agent because it is there now."""
        self._schema.look_again()

    def prune(self, connection: Connection) -> None:
        """Forget what is old."""
        self._schema.write(connection, lambda: history.prune(connection))
