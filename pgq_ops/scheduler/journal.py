"""Keeps the last run of each task in the `pgq_ops` schema, where that is installed."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg

from pgq_ops import logs
from pgq_ops.db.failures import is_busy, is_connection_loss
from pgq_ops.db.wording import in_words
from pgq_ops.errors import NotPermitted, PgqOpsError
from pgq_ops.schema import history, versions
from pgq_ops.tasks.task import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

# `inspect` shows when a task last ran: a minute is near enough, and an idle agent should write next to nothing.
NOTHING_EVERY_SECONDS = 60.0
# The schema may be installed, or the privilege granted, while the agent runs: one look at the catalog each time,
# so that it is noticed within half a minute, the wait for the next run included.
LOOK_AGAIN_SECONDS = 20.0

log = logs.get("journal")


@dataclass(slots=True)
class Journal:
    """Records runs over the leader's connection. Nothing that goes wrong here fails the task."""

    _noted: dict[tuple[str, str], tuple[Outcome, str, float]] = field(default_factory=dict)
    _usable: Connection | None = None
    _look_again_at: float = 0.0
    _complaint: str = ""

    def note(self, connection: Connection, table: JobTable, run: history.TaskRun) -> None:
        """Record a run; one with nothing to do, and nothing new to say, at most once a minute."""
        now = time.monotonic()
        outcome, key = Outcome(run.outcome), (table.name, run.task)
        last, message, at = self._noted.get(key, (None, "", 0.0))
        if outcome is last is Outcome.NOTHING and run.message == message and now - at < NOTHING_EVERY_SECONDS:
            return
        if self._write(connection, lambda: history.record_run(connection, table, run)):
            self._noted[key] = outcome, run.message, now

    def look_again(self) -> None:
        """Look for the schema at the next run: somebody may have reloaded the agent because it is there now."""
        self._look_again_at = 0.0

    def prune(self, connection: Connection) -> None:
        """Forget what is old."""
        self._write(connection, lambda: history.prune(connection))

    def _write(self, connection: Connection, write: Callable[[], object]) -> bool:
        """Whether it could be written. A schema that is not there is no mistake, and is looked for now and then."""
        try:
            if not self._can_write(connection):
                return False
            write()
        except (psycopg.Error, PgqOpsError) as error:
            cause = error.__cause__ or error
            if not (is_connection_loss(cause) or is_busy(cause)):
                self._usable = None
                self._complain(error)
            return False
        return True

    def _can_write(self, connection: Connection) -> bool:
        now = time.monotonic()
        if self._usable is not connection and now >= self._look_again_at:
            self._look_again_at = now + LOOK_AGAIN_SECONDS
            self._usable = connection if versions.installed(connection) == versions.newest() else None
        return self._usable is connection

    def _complain(self, error: Exception) -> None:
        text = in_words(error)
        if text != self._complaint:
            self._complaint = text
            hint = "" if isinstance(error, NotPermitted) else "`pgq-ops grants` prints what the role needs"
            log.warning("journal.not_written", error=text, hint=hint)
