"""Looks for the jobs of one id in one job table, and at all that tells what becomes of them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import errors
from psycopg import sql as composing

from pgq_ops.binding import access, catalog
from pgq_ops.binding.reaping import moving_problems, reaping_problems
from pgq_ops.checks.policies import policy_of
from pgq_ops.cli.inspection.reading import is_reaping, moment
from pgq_ops.cli.why_facts import Found, JobFacts, Reaper
from pgq_ops.db.connection import COMMAND_LIMITS, row_security
from pgq_ops.errors import DatabaseFailed, NotPermitted
from pgq_ops.schema import history
from pgq_ops.stats import job_life, job_life_line, job_life_lock, leases, reap_history, task_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pgq_ops.config.model import Config
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.job_life import JobLife
    from pgq_ops.stats.job_life_line import Line
    from pgq_ops.stats.job_life_lock import RowLock
    from pgq_ops.stats.reap_history import Event

# What only adds to the answer may take no longer than this.
_ASIDE_MS = 500
_LOCKED = "the reap log is locked by somebody else just now"


@contextmanager
def _briefly(connection: Connection) -> Iterator[None]:
    """Looks that may take `_ASIDE_MS` each."""
    for_how_long = composing.SQL("SET statement_timeout = {}")
    connection.execute(for_how_long.format(_ASIDE_MS))
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute(for_how_long.format(COMMAND_LIMITS.statement_ms))


@dataclass(frozen=True, slots=True)
class _Locks:
    """The locks on the rows by their addresses, or why they are not known."""

    by_key: dict[str, RowLock]
    unknown: str = ""
    grant: str = ""


@dataclass(frozen=True, slots=True)
class TableLook:
    """A look at one table for the mapped id `job`. `section`: see `JobFacts`."""

    connection: Connection
    table: JobTable
    config: Config
    job: str
    section: str

    def found(self) -> Found:
        """What the table knows. Raises DatabaseFailed, the driver's errors."""
        now = moment(self.connection)
        logged = history.reap_log_readable(self.connection)
        lives = job_life.read(self.connection, self.table, self.job, logged=logged)
        if not lives:
            events, unknown = self._history(lambda: reap_history.of_id(self.connection, self.table, self.job))
            if unknown == _LOCKED:
                raise DatabaseFailed(f"no job of {self.table} has the id, and whether one had is not known: {unknown}")
            return Found(self.table.name, forgotten=events or (), now=now)
        reaper = self._reaper()
        with _briefly(self.connection):
            locks = self._locks(lives)
            jobs = tuple(self._facts(now, life, reaper, locks) for life in lives)
        return Found(self.table.name, jobs, now=now)

    def _facts(self, now: str, life: JobLife, reaper: Reaper, locks: _Locks) -> JobFacts:
        if life.moved:
            events, unknown = self._history(lambda: reap_history.of_id(self.connection, self.table, self.job))
        else:
            events, unknown = self._history(lambda: reap_history.read(self.connection, self.table, life.key))
        lockable = not life.moved
        return JobFacts(
            table=self.table,
            now=now,
            life=life,
            reaper=reaper,
            lock=locks.by_key.get(life.key) if lockable else None,
            lock_unknown=locks.unknown if lockable else "",
            lock_grant=locks.grant,
            line=self._line(life),
            history=events,
            history_unknown=unknown,
            mass_expired=self._mass_expired(life) if reaper.reaping else 0,
            section=self.section,
        )

    def _line(self, life: JobLife) -> Line | None:
        if life.state != "ready":
            return None
        try:
            return job_life_line.read(self.connection, self.table, life.key, life.queue)
        except errors.LockNotAvailable:
            return None

    def _mass_expired(self, life: JobLife) -> int:
        """How many leases of the job's policy are expired, where those are a mass; 0 also where that takes too long."""
        if life.lease != "expired":
            return 0
        try:
            with row_security(self.connection, allowed=self.table.all_visible_policies):
                queues = leases.read(self.connection, self.table).queues
        except (errors.QueryCanceled, errors.LockNotAvailable):
            return 0
        mine = [queue for queue in queues if policy_of(self.table, queue.queue) == life.policy]
        expired, guard = sum(queue.expired for queue in mine), life.policy.reaper.mass_expiry
        share = guard.fraction * sum(queue.running for queue in mine)
        return expired if expired > guard.minimum and expired > share else 0

    def _locks(self, lives: tuple[JobLife, ...]) -> _Locks:
        if all(life.moved for life in lives):
            return _Locks({})
        try:
            return _Locks(job_life_lock.read(self.connection, self.table, self.job))
        except errors.QueryCanceled:
            return _Locks({}, "in time")
        except errors.LockNotAvailable:
            return _Locks({}, "while somebody locks the table")
        except errors.InsufficientPrivilege:
            where = self.table.relation
            grant = access.grant(self.connection, "SELECT", job_life_lock.COLUMNS, where.schema, where.name)
            return _Locks({}, "by this role", grant)

    def _history(self, read: Callable[[], tuple[Event, ...] | None]) -> tuple[tuple[Event, ...] | None, str]:
        if not self.table.key:
            return None, "the table has no primary key, by which the reap log knows a job"
        try:
            events = read()
        except NotPermitted as error:
            return None, str(error)
        except errors.LockNotAvailable:
            return None, _LOCKED
        except errors.QueryCanceled:
            return None, "the reap log takes too long to read just now"
        return events, "" if events is not None else "it is not recorded; this begins it: pgq-ops install"

    def _reaper(self) -> Reaper:
        problems = [*reaping_problems(self.table), *moving_problems(self.table)]
        runs, unread = None, False
        try:
            runs = task_runs.read(self.connection, self.table)
        except NotPermitted:
            pass
        except (errors.LockNotAvailable, errors.QueryCanceled):
            unread = True
        configured = self.config.job_tables[self.table.name]
        return Reaper(
            reaping=is_reaping(self.table, runs),
            run=next((run for run in runs or () if run.task == "reaper"), None),
            recorded=runs is not None,
            asked=self.config.agent.mode == "manage" and "reaper" in configured.requested_tasks,
            problem="; ".join(map(str, problems)),
            uptime_seconds=catalog.server(self.connection).uptime_seconds,
            unread=unread,
        )
