"""The look at the pending jobs: in the order in which they are available where an index gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops.stats import bounded, job_count, job_sample
from pgq_ops.stats.extrapolation import Sample
from pgq_ops.stats.index_support import Question

if TYPE_CHECKING:
    from psycopg import sql as composing

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.index_support import IndexSupport


def question(support: IndexSupport) -> Question:
    """The better one of the two questions about pending jobs that an index answers."""
    return Question.PENDING_IN_ORDER if Question.PENDING_IN_ORDER in support.serving else Question.PENDING


def read(
    connection: Connection, table: JobTable, support: IndexSupport, watermark: float | None
) -> tuple[Sample, float] | None:
    """The rows, from the watermark (epoch seconds) on if there is one, and when they were read; None if cut off.

    To be done only where an index answers `question()`. Raises the driver's errors but the timeout's.
    """
    ordered = question(support) is Question.PENDING_IN_ORDER
    parameters = {"limit": job_sample.CAP + 1} | ({} if watermark is None else {"watermark": watermark})

    def rows_of(look: composing.Composable) -> tuple[list[job_sample.Sampled], float]:
        found, now = bounded.read(connection, table, look, parameters)
        return job_sample.parsed(found), now

    serving = support.serving[question(support)]
    counting: composing.Composable | None = serving.alone
    sampling: composing.Composable = serving.look
    if watermark is not None:
        sampling = job_sample.jobs_in(table, "pending", ordered=ordered, after_watermark=True)
        counting = job_count.pending(table, after_watermark=True) if counting is not None else None
    try:
        rows, now = rows_of(counting or sampling)
        if counting is not None and job_count.lacks_age(rows):
            rows, now = rows_of(sampling)
    except errors.QueryCanceled:
        return None
    available = table.fields.get("available_at")
    nulls_last = available is None or not available.not_null
    return Sample(rows, in_order=ordered, nulls_last=nulls_last, trusted=watermark is None), now
