"""How the leases of running jobs stand, by queue; each queue under its own policy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.job_table.leases import LeaseTerms
from pgq_ops.stats import bounded
from pgq_ops.stats.job_sample import CAP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

# Its place among the counts of a row.
_EXPIRED = 1


@dataclass(frozen=True, slots=True)
class QueueLeases:
    """The running jobs of one queue: each is live, expired, stale or missing. Live ones may be more than that.

    `expired` ran out (grace included) and is not stale, `always_over` of them at `-infinity`; `overlong` and `future`
    are among the live ones. `oldest_expired_seconds` counts from the lease's end; 0 without any expired one, None where
    all of them have always been over. So does `oldest_stale_seconds`; those of missing and overlong ones count from the
    claim, or else the creation. These three are None without any such lease, and where no moment is known.
    """

    queue: str | None
    live: int = 0
    expired: int = 0
    stale: int = 0
    missing: int = 0
    overlong: int = 0
    future: int = 0
    always_over: int = 0
    oldest_expired_seconds: float | None = 0.0
    oldest_stale_seconds: float | None = None
    oldest_missing_seconds: float | None = None
    oldest_overlong_seconds: float | None = None

    @property
    def trouble_seconds(self) -> float:
        """The age of the oldest lease that is not as it should be; 0 where all is well, infinite for `-infinity`."""
        if self.always_over:
            return math.inf
        stale, missing, overlong = self.oldest_stale_seconds, self.oldest_missing_seconds, self.oldest_overlong_seconds
        return max(self.oldest_expired_seconds or 0.0, stale or 0.0, missing or 0.0, overlong or 0.0)

    @property
    def running(self) -> int:
        """All running jobs of the queue."""
        return self.live + self.expired + self.stale + self.missing


@dataclass(frozen=True, slots=True)
class Leases:
    """All queues. `truncated`: there are more running jobs than were looked at, so each number is a lower bound."""

    queues: tuple[QueueLeases, ...]
    truncated: bool = False

    def worst_first(self) -> tuple[QueueLeases, ...]:
        """The queues in which anything runs, the one with the oldest trouble first, then by running jobs."""
        running = [queue for queue in self.queues if queue.running]
        return tuple(sorted(running, key=lambda queue: (-queue.trouble_seconds, -queue.running, queue.queue or "")))

    def total(self, condition: str) -> int:
        """The sum of one of the conditions over the queues."""
        return sum(int(getattr(queue, condition)) for queue in self.queues)


@dataclass(frozen=True, slots=True)
class Looks:
    """The two looks at a table's running jobs, each with the parameter `limit`.

    `brief`: how many there are, and with how many all is well. `whole`: how each of them stands, a few times as dear.
    """

    brief: composing.SQL
    whole: composing.SQL


def looks(table: JobTable) -> Looks:
    """The looks: worth keeping where they are made again and again."""
    return Looks(bounded.composed_once(brief_look(table)), bounded.composed_once(look(table)))


def brief_look(table: JobTable) -> composing.Composed:
    """The look that tells whether all is well. Parameter: `limit`."""
    return sql.statement("stats/live_leases", _fragments(table))


def look(table: JobTable) -> composing.Composed:
    """The look at the running jobs. Parameter: `limit`."""
    return sql.statement("stats/leases_by_queue", _fragments(table))


def read(connection: Connection, table: JobTable, cap: int = CAP, kept: Looks | None = None) -> Leases:
    """Look at up to `cap` running jobs; raises the driver's errors. `kept` is `looks()`, if it is at hand.

    To be done unasked only where `IndexSupport.is_cheap("running")`.
    """
    kept = kept or looks(table)
    limit = {"limit": cap + 1}
    running, _ = bounded.read(connection, table, kept.brief, limit, again=True)
    if all(jobs == well for _, jobs, well in running):
        queues = tuple(QueueLeases(queue, live=jobs) for queue, jobs, _ in running)
    else:
        rows, _ = bounded.read(connection, table, kept.whole, limit)
        queues = tuple(_queue(*row) for row in rows)
    return Leases(queues, truncated=sum(queue.running for queue in queues) > cap)


def _fragments(table: JobTable) -> dict[str, composing.Composable]:
    terms = LeaseTerms(table, table.policies)
    by_queue = "queue" in table.fields
    return {
        "queue": composing.SQL("s.pgq_ops_queue") if by_queue else table.queue(),
        "row_queue": table.queue() if by_queue else composing.SQL("NULL"),
        "table": table.relation.sql,
        "is_running": table.is_state("running"),
        "ran_out": terms.ran_out(),
        "is_stale": terms.is_stale(),
        "is_missing": terms.is_missing(),
        "is_overlong": terms.is_overlong(),
        "is_future": terms.is_future(),
        "expires_at": terms.expires_at(),
        "claimed_at": terms.claimed_at(),
    }


def _queue(queue: str | None, *numbers: float | None) -> QueueLeases:
    *counts, expired_age, stale_age, missing_age, overlong_age = numbers
    numbers_of = [int(count or 0) for count in counts]
    if expired_age is None and not numbers_of[_EXPIRED]:
        expired_age = 0.0
    ages = (None if age is None else max(0.0, age) for age in (expired_age, stale_age, missing_age, overlong_age))
    return QueueLeases(queue, *numbers_of, *ages)


def oldest_expired(queues: Iterable[QueueLeases]) -> float | None:
    """The age of the lease that expired first, as far as one is known: see `QueueLeases.oldest_expired_seconds`."""
    known = [queue.oldest_expired_seconds for queue in queues]
    ages = [age for age in known if age is not None]
    oldest = max(ages, default=0.0)
    return oldest if oldest or len(ages) == len(known) else None
