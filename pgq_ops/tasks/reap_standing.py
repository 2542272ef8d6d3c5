"""What the reaper may do with a job table, and which indexes help it: asked before a pass, remembered for a while."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import psycopg

from pgq_ops.binding import cascades, catalog
from pgq_ops.binding.access import require_reapable
from pgq_ops.binding.reaping import moving_problems, reaping_problems
from pgq_ops.db.failures import is_busy
from pgq_ops.errors import ConfigError, NotInstalled, NotPermitted, Problem
from pgq_ops.job_table.changes import written_columns
from pgq_ops.schema import history
from pgq_ops.stats import index_support
from pgq_ops.stats.index_support import Question
from pgq_ops.tasks.dead_cascades import follow_moves

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether the reap log can be written, and which questions an index answers."""

    logged: bool
    serving: frozenset[Question] = frozenset()

    @property
    def needs_scan(self) -> bool:
        """Whether no index leads to the running jobs or to the expired ones, so that the table itself must be read."""
        return not ({Question.RUNNING, Question.EXPIRED_IN_ORDER} & self.serving)


def find(connection: Connection, table: JobTable, before: Standing | None) -> tuple[Standing, bool]:
    """How things stand, and whether that is worth remembering.

    It is not while a lock on some leaf keeps the planner from saying: then it is as it was `before`, or as if no
    index helped, and the other leaves are reaped. Raises NotPermitted, NotInstalled, the driver's errors.
    """
    require_reapable(connection, table, written_columns(table))
    _require_harmless_moves(connection, table)
    logged = history.reap_log_writable(connection)
    if not logged and "attempts" not in table.fields:
        raise _log_missing(table, "writable")
    try:
        return Standing(logged, frozenset(index_support.read(connection, table).serving)), True
    except psycopg.Error as error:
        if not is_busy(error):
            raise
        return replace(before or Standing(logged), logged=logged), False


def require_fit(table: JobTable) -> None:
    """Raise ConfigError with all that the mapping lacks, and with what a burial would do to other tables unasked.

    Asks no database. To be asked before each pass: a table that is bound anew may be fit no longer.
    """
    if problems := [*reaping_problems(table), *moving_problems(table)]:
        raise ConfigError(tuple(problems))


def require_plannable(connection: Connection, table: JobTable) -> None:
    """Raise what keeps a plan from being made, which only reads."""
    if catalog.server(connection).in_recovery:
        raise NotPermitted(f"{table.name}: this server is a standby, where nothing can be changed: reap on its primary")
    require_fit(table)
    _require_harmless_moves(connection, table)
    if "attempts" not in table.fields and not history.reap_log_readable(connection):
        raise _log_missing(table, "readable")


def _require_harmless_moves(connection: Connection, table: JobTable) -> None:
    """Raise ConfigError where a requeue moves jobs between partitions and foreign keys take that for deletions."""
    if table.moves_rows and follow_moves(connection) and (found := cascades.read(connection, table.relation)):
        listed = "; ".join(map(str, found))
        what = (
            "a requeue moves jobs from partition to partition, and before PostgreSQL 15 foreign keys take that for"
            f" their deletion: {listed}"
        )
        raise ConfigError(
            (Problem(f"job_tables.{table.name}.reaper", what, "drop their ON DELETE action, or upgrade the server"),)
        )


def _log_missing(table: JobTable, what: str) -> NotInstalled:
    return NotInstalled(
        f"{table.name}: the table keeps no attempts, so they are counted in pgq_ops.reap_log, which is not"
        f" there or not {what}: run `pgq-ops install` and `pgq-ops grants`, or map columns.attempts"
    )
