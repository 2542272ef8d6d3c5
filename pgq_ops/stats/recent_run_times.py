"""How long jobs run, by those that finished last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.job_table.leases import LeaseTerms
from pgq_ops.stats import bounded

if TYPE_CHECKING:
    from datetime import timedelta

    from pgq_ops.config.policy import QueuePolicy
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

_MOST = 1_000
_WITHIN_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class RunTimes:
    """Of `jobs` that finished last within a day, `longer` ran longer than their lease is, grace included.

    `longest_seconds` is None without any.
    """

    jobs: int
    longer: int
    longest_seconds: float | None


def read(connection: Connection, table: JobTable) -> RunTimes:
    """Look at 1,000 jobs at most: only with `Question.FINISHED` served, `leased_at` mapped, and a lease.timeout.

    Raises the driver's errors.
    """
    finished, leased = table.fields["finished_at"], table.fields["leased_at"]
    moments = (table.clock.finite(finished), table.clock.finite(leased))
    since = table.clock.compared(
        composing.SQL("pg_catalog.now() - pg_catalog.make_interval(secs => %(within)s)"), finished
    )
    fragments = {
        "lease_seconds": LeaseTerms(table, table.policies).seconds(_lease) or composing.SQL("NULL::float8"),
        "table": table.relation.sql,
        "is_done": table.is_state("done"),
        "finished_at": finished.value,
        "since": composing.SQL("{} > {}").format(finished.value, since),
        "run_seconds": composing.SQL("extract(epoch FROM ({}) - ({}))::float8").format(*moments),
    }
    parameters = {"limit": _MOST, "within": _WITHIN_SECONDS}
    rows, _ = bounded.read(connection, table, sql.statement("stats/recent_run_times", fragments), parameters)
    return RunTimes(*rows[0])


def _lease(policy: QueuePolicy) -> timedelta | None:
    return None if policy.lease.timeout is None else policy.lease.timeout + policy.lease.grace
