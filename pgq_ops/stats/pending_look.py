"""The look at the pending jobs: in the order in which they are available where an index gives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops.stats import bounded, job_count, job_sample
from pgq_ops.stats.extrapolation import Sample
from pgq_ops.stats.index_support import Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import sql as composing

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.index_support import IndexSupport
    from pgq_ops.stats.job_sample import Sampled


@dataclass(frozen=True, slots=True)
class PendingLook:
    """The ways to look at the pending jobs of a table."""

    connection: Connection
    table: JobTable
    support: IndexSupport
    crowded: bool = False
    """Whether a brief look is enough, as more than the cap are known to be ready."""

    @property
    def ordered(self) -> bool:
        """Whether an index gives them by available_at."""
        return Question.PENDING_IN_ORDER in self.support.serving

    @property
    def question(self) -> Question:
        """The better of the two questions about them that an index may answer."""
        return Question.PENDING_IN_ORDER if self.ordered else Question.PENDING

    @property
    def plain(self) -> composing.SQL | None:
        """The look at all of them; None where no index answers it."""
        serving = self.support.serving.get(self.question)
        return None if serving is None else serving.counting(brief=self.crowded)

    def read(self, watermark: float | None = None) -> tuple[Sample, float] | None:
        """Those from the watermark (epoch seconds) on, and when they were read; None if that took too long.

        To be done only where there is a `plain` look. Raises the driver's other errors.
        """
        look: composing.Composable | None = self.plain
        if watermark is not None:
            alone = self.support.serving[self.question].alone is not None
            look = job_count.pending(self.table, after_watermark=True) if alone else self._sampling(watermark)
        try:
            rows, now = self._rows(look or self._sampling(watermark), watermark)
        except errors.QueryCanceled:
            return None
        return self.completed(rows, now, watermark)

    def completed(
        self, rows: Sequence[Sampled], now: float, watermark: float | None = None
    ) -> tuple[Sample, float] | None:
        """The same from a look that was made."""
        serving = self.support.serving[self.question]
        cap = serving.cap(brief=self.crowded and watermark is None)
        if serving.alone is not None and job_count.lacks_age(rows):
            cap = job_sample.CAP
            try:
                rows, now = self._rows(self._sampling(watermark), watermark)
            except errors.QueryCanceled:
                return None
        available = self.table.fields.get("available_at")
        nulls_last = available is None or not available.not_null
        trusted = watermark is None
        return Sample(rows, in_order=self.ordered, nulls_last=nulls_last, trusted=trusted, cap=cap), now

    def _sampling(self, watermark: float | None) -> composing.Composed:
        late = watermark is not None
        return job_sample.jobs_in(self.table, "pending", ordered=self.ordered, after_watermark=late)

    def _rows(self, look: composing.Composable, watermark: float | None) -> tuple[list[Sampled], float]:
        late = {} if watermark is None else {"watermark": watermark}
        rows, now = bounded.read(self.connection, self.table, look, job_count.LIMITS | late)
        return job_sample.parsed(rows), now
