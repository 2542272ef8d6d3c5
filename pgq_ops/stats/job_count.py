"""The looks at single states that an index answers alone, without the table's rows, in a table without queues.

They give the rows that `job_sample` would. As long as VACUUM keeps up with the pages that the index points to, ten
thousand jobs are counted in tens of pages instead of up to ten thousand; where it does not, at the same cost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.job_table.quoting import all_of, literal
from pgq_ops.stats import job_sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.job_sample import Sampled

# The oldest of a backlog's first dead jobs is no more than a bound, however many are read.
_FEW = 100


LIMIT = composing.SQL("%(limit)s")
BRIEF_CAP = 1_000
"""So many jobs are counted of a state that is known to hold many more: it may have become short meanwhile."""

LIMITS = {"limit": job_sample.CAP + 1, "brief": BRIEF_CAP + 1}
"""The parameters of looks of either kind."""


def pending(
    table: JobTable, *, after_watermark: bool = False, limit: composing.SQL = LIMIT
) -> composing.Composed | None:
    """The look at pending jobs in order; None where more than available_at is needed. Parameters as `jobs_in`'s."""
    available = table.fields.get("available_at")
    if available is None or not available.not_null or not _is_one_queue(table):
        return None

    first_ready = replace(available, value=composing.SQL("ready.pgq_ops_first"))
    first_scheduled = replace(available, value=composing.SQL("scheduled.pgq_ops_first"))
    fragments = {
        "queue": table.queue(),
        "available_at": available.value,
        "is_due": table.is_due(),
        "first_ready": table.clock.finite(first_ready),
        "first_scheduled": table.clock.finite(first_scheduled),
        "table": table.relation.sql,
        "condition": all_of(job_sample.conditions(table, "pending", after_watermark=after_watermark)),
        "limit": limit,
    }
    return sql.statement("stats/count_pending_jobs", fragments)


def state(table: JobTable, name: str, *, limit: composing.SQL = LIMIT) -> composing.Composed | None:
    """The look at a state other than pending; None where a column of the row is needed. Parameter: `limit`."""
    if not _is_one_queue(table):
        return None
    fragments = {"queue": table.queue(), "table": table.relation.sql, "condition": table.is_state(name), "limit": limit}
    if name == "dead" and job_sample.tells_since(table, name):
        fragments |= {"since": job_sample.since(table, name), "few": literal(_FEW)}
        return sql.statement("stats/count_dead_jobs", fragments)
    return sql.statement("stats/count_jobs", fragments | {"state": literal(name)})


def lacks_age(rows: Sequence[Sampled]) -> bool:
    """Whether the oldest ready job's available_at is infinite, so that its age is in another column."""
    return any(row.state == "ready" and row.first_moment is None for row in rows)


def _is_one_queue(table: JobTable) -> bool:
    return "queue" not in table.fields and all(policy.queue is None for policy in table.policies)
