"""From the first rows of a look to numbers for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops.stats.depth import Age, Count
from pgq_ops.stats.job_sample import CAP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pgq_ops.stats.job_sample import Sampled


@dataclass(frozen=True, slots=True)
class Sample:
    """The rows of one look.

    `in_order`: they are the first by available_at. `nulls_last`: that may be NULL, and such rows come last.
    `trusted` False: rows may be missing (the look began at a watermark), so that nothing is exact.
    `complete`: all rows, however many, were looked at. `cap`: no more than one beyond so many were; where it is less
    than `CAP`, more than `CAP` are known to have been there lately.
    """

    rows: Sequence[Sampled]
    in_order: bool = False
    nulls_last: bool = True
    trusted: bool = True
    complete: bool = False
    cap: int = CAP

    @property
    def jobs(self) -> int:
        """How many rows were looked at."""
        return sum(row.jobs for row in self.rows)

    @property
    def truncated(self) -> bool:
        """Whether there are more rows than were looked at."""
        return self.jobs > self.cap and not self.complete

    @property
    def has_all_ready(self) -> bool:
        """Whether every ready job is among the rows: in order of time the ready ones come first."""
        if not self.truncated:
            return True
        return self.in_order and not self.nulls_last and any(row.state == "scheduled" for row in self.rows)

    def is_complete(self, state: str) -> bool:
        """Whether every job in the state is among the rows."""
        return not self.truncated or (state == "ready" and self.has_all_ready)

    def counts(self, estimate: Callable[[], int]) -> dict[tuple[str | None, str], Count]:
        """Jobs by queue and state. `estimate` is asked for the total of a truncated look, by share then."""
        complete = frozenset(filter(self.is_complete, {row.state for row in self.rows}))
        jobs, whole = self.jobs, sum(row.jobs for row in self.rows if row.state in complete)
        partial = jobs - whole
        total = max(estimate(), CAP + 1) if self.truncated else jobs
        scale = (total - whole) / partial if partial else 1.0
        return {
            (row.queue, row.state): Count(row.jobs, exact=self.trusted)
            if row.state in complete
            else Count(round(row.jobs * scale), exact=False)
            for row in self.rows
        }

    def absent(self, state: str) -> Count:
        """What the lack of any row of a queue says of its jobs in a state."""
        return Count(0, exact=self.trusted and self.is_complete(state))

    def oldest_ready(self) -> dict[str | None, Age | None]:
        """By queue with ready jobs, the age of the oldest; None where no column tells it."""
        exact = self.trusted and (self.has_all_ready or (self.in_order and not self.nulls_last))
        return {
            row.queue: None if row.oldest_seconds is None else Age(row.oldest_seconds, exact=exact)
            for row in self.rows
            if row.state == "ready"
        }

    def oldest_ready_elsewhere(self, now: float) -> Age | None:
        """What is known of the oldest ready job of a queue without any: none, or none older than the last row."""
        if self.has_all_ready:
            return Age(0.0, exact=self.trusted)
        ends = [row.last_moment for row in self.rows if row.last_moment is not None]
        if not self.in_order or not ends:
            return None
        return Age(max(0.0, now - max(ends)), exact=False)

    def first_moment(self) -> float | None:
        """The earliest available_at among the rows, in epoch seconds."""
        return min((row.first_moment for row in self.rows if row.first_moment is not None), default=None)
