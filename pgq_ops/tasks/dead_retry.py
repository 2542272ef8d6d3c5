"""Retries dead jobs: makes them pending again with fresh attempts, spread over time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import psycopg

from pgq_ops import logs, sql
from pgq_ops.binding.dead_access import require_retryable
from pgq_ops.binding.retrying import require_mapped
from pgq_ops.db.failures import is_busy
from pgq_ops.errors import NotInstalled
from pgq_ops.job_table.dead_filter import DeadFilter
from pgq_ops.job_table.dead_place import age_since, dead_places
from pgq_ops.job_table.retry_changes import RetryChanges
from pgq_ops.schema import history
from pgq_ops.stats import partition_ceiling
from pgq_ops.tasks import dead_cascades, dead_rate, dead_relations
from pgq_ops.tasks.dead_pass import DeadPass
from pgq_ops.tasks.dead_retry_result import RetryResult
from pgq_ops.tasks.dead_retry_statement import RetryStatement
from pgq_ops.tasks.dead_tally import DeadTally
from pgq_ops.tasks.dead_way_back import WayBack

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.cascade import Cascade
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.tasks.task import Guard

# What made 50,000 jobs die is seldom so thoroughly mended that they may all come back in one instant: at this rate they
# take 17 minutes, while a handful is back at once. Workers seldom do fewer (performance.md: one machine did 2,400).
DEFAULT_RATE = 50.0

log = logs.get("dead")


@dataclass(slots=True)
class DeadRetry:
    """The retry of what a filter means.

    `extra_attempts`: how many runs each job has left then, None for as many as a new one. `rate`: jobs a second, 0 for
    all at once. `cascade`: rows of other tables may change through foreign keys to the dead-letter table.
    """

    wanted: DeadFilter = field(default_factory=DeadFilter)
    limit: int | None = None
    extra_attempts: int | None = None
    rate: float = DEFAULT_RATE
    cascade: bool = False
    done: dict[str, RetryResult] = field(default_factory=dict)
    """What the last run on each job table did, also where it was cut short by an error."""

    @property
    def doing(self) -> str:
        """What is done, as a message says it."""
        return "retry the dead letters"

    def nothing(self, *, busy: tuple[str, ...] = ()) -> RetryResult:
        """A result with nothing in it, or with tables that were locked."""
        return self._result(DeadTally(busy=list(busy)), 0.0)

    def plan(self, connection: Connection, table: JobTable) -> RetryResult:
        """How many jobs would come back and until when; reads only, and needs no more than SELECT.

        Raises as `run` does otherwise.
        """
        require_mapped(table)
        tally = DeadTally(self.wanted.ids)
        going = DeadPass(connection, self.wanted, tally, self.limit)
        begun = _now(connection)
        cascades = self._cascades(connection, table)
        dead_cascades.require_possible(cascades)
        for place in dead_places(table):
            going.plan(place, RetryChanges(place.table, self.extra_attempts).attempts_left())
        dead_rate.require_soon(tally.jobs, self.rate)
        if self.rate and tally.jobs:
            tally.last_due_at = begun + tally.jobs / self.rate
        return self._result(tally, begun, planned=True, cascades=cascades, since=self._age_since(table))

    def run(self, connection: Connection, table: JobTable, guard: Guard) -> RetryResult:
        """Retry all that is meant, as far as it can be.

        Raises ConfigError for a table that lacks what a retry needs, UsageError where other tables would change
        unasked or the last job would come back too late, NotInstalled where attempts would have to be counted in a
        schema that is not there, NotPermitted with the GRANT, and the driver's errors.
        """
        require_mapped(table)
        tally = DeadTally(self.wanted.ids)
        going = DeadPass(connection, self.wanted, tally, self.limit)
        cascades = self._cascades(connection, table)
        dead_cascades.require_allowed(cascades, allowed=self.cascade)
        dead_rate.require_soon_enough(table, going, self.rate)
        begun = _now(connection)
        try:
            self._all(connection, table, going, guard, partial(RetryStatement, begun=begun, cascades=cascades))
        finally:
            result = self._result(tally, begun, cascades=cascades, since=self._age_since(table))
            self.done[table.name] = result
            if result.counts.jobs:
                log.info("dead.retried", job_table=table.name, **result.logged())
        return result

    def _all(
        self,
        connection: Connection,
        table: JobTable,
        going: DeadPass,
        guard: Guard,
        statement: Callable[..., RetryStatement],
    ) -> None:
        """Place by place, once it is known that all of them can be worked on."""
        places = dead_places(table)
        try:
            ceiling = partition_ceiling.read(connection, replace(table, moves_rows=table.partitioned))
        except psycopg.Error as error:
            if not is_busy(error):
                raise
            going.tally.busy.append(str(table))
            going.tally.are_there(self.wanted.ids)
            return
        changes = RetryChanges(table, self.extra_attempts, ceiling)
        written = changes.written_columns()
        ways_back = [WayBack.read(connection, place) if place.is_dead_letter_table else None for place in places]
        inserted = [name for way in ways_back if way is not None for name in way.inserted(written)]
        require_retryable(connection, places, written, inserted)
        logged = _is_logged(connection, table)
        for place, way_back in zip(places, ways_back, strict=True):
            here = partial(statement, changes=changes, rate=self.rate, way_back=way_back, logged=logged)
            going.run(place, here, written=written, deleting=way_back is not None, guard=guard)

    def _cascades(self, connection: Connection, table: JobTable) -> tuple[Cascade, ...]:
        left = [] if table.dead_letters is None else [table.dead_letters.relation]
        written = RetryChanges(table, self.extra_attempts).written_columns()
        if dead_cascades.follow_moves(connection) and dead_relations.moves_rows(connection, table, written):
            left.append(table.relation)
        return dead_cascades.read(connection, *left)

    def _age_since(self, table: JobTable) -> str | None:
        return age_since(table) if self.wanted.by_age else None

    def _result(
        self,
        tally: DeadTally,
        begun: float,
        *,
        planned: bool = False,
        cascades: tuple[Cascade, ...] = (),
        since: str | None = None,
    ) -> RetryResult:
        return RetryResult(
            counts=tally.counts(planned=planned),
            begun_at=begun,
            last_due_at=tally.last_due_at,
            rate=self.rate,
            extra_attempts=self.extra_attempts,
            attempts_left=tally.attempts_left,
            age_since=since,
            cascades=cascades,
            dry_run=planned,
        )


def _now(connection: Connection) -> float:
    row = connection.execute(sql.statement("stats/clock"), {}).fetchone()
    return float(row[0]) if row else 0.0


def _is_logged(connection: Connection, table: JobTable) -> bool:
    """Whether the log can hold a retry; raises NotInstalled where it must, as it counts the attempts."""
    logged = history.retries_writable(connection)
    if not logged and "attempts" not in table.fields:
        raise NotInstalled(
            f"{table.name}: the table keeps no attempts, so a fresh start must be written to pgq_ops.reap_log, which is"
            " not there, not writable or of an older version: run `pgq-ops install` and `pgq-ops grants`"
        )
    return logged
