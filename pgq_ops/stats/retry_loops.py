"""Jobs that their workers hand back again and again: beyond the cap of attempts, or with nothing to wait for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.job_table.changes import ReapChanges
from pgq_ops.stats import bounded
from pgq_ops.stats.job_sample import CAP

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

OFTEN = 3
"""Attempts from which a job is said to be tried often: a worker that is stopped may hand one back unharmed, once."""


@dataclass(frozen=True, slots=True)
class RetryLoops:
    """Of `pending` jobs, `capped` have had as many attempts as they may.

    `hurried` were tried OFTEN and are still due since they were created; None where the table cannot tell.
    """

    pending: int
    capped: int
    hurried: int | None


def read(connection: Connection, table: JobTable) -> RetryLoops:
    """Look at 10,000 pending jobs at most: only where `attempts` is mapped and an index leads to them.

    Raises the driver's errors.
    """
    cases = [
        composing.SQL("WHEN {} THEN {}").format(table.in_policy(policy), ReapChanges(table, policy).max_attempts())
        for policy in table.policies
    ]
    attempts = ReapChanges(table, table.policies[0]).attempts()
    tells = all(name in table.fields for name in ("available_at", "created_at"))
    never: composing.Composable = composing.SQL("false")
    if tells:
        due, created = (table.clock.finite(table.fields[name]) for name in ("available_at", "created_at"))
        # Both may be the default now(), or the client's clock twice.
        never = composing.SQL("({}) <= ({}) + interval '1 second'").format(due, created)
    fragments = {
        "table": table.relation.sql,
        "is_pending": table.is_state("pending"),
        "attempts": attempts,
        "reaches_cap": composing.SQL("{} >= CASE {} END").format(attempts, composing.SQL(" ").join(cases)),
        "never_put_off": never,
    }
    look = sql.statement("stats/retry_loops", fragments)
    rows, _ = bounded.read(connection, table, look, {"limit": CAP, "often": OFTEN})
    pending, capped, hurried = rows[0]
    return RetryLoops(pending, capped, hurried if tells else None)
