"""What a retry of dead letters did, or would do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pgq_ops.job_table.cascade import Cascade
    from pgq_ops.tasks.dead_tally import DeadCounts
    from pgq_ops.tasks.task import Outcome


@dataclass(frozen=True, slots=True)
class RetryResult:
    """`begun_at` and `last_due_at` (of the last job, None for none) are epoch seconds by the database's clock.

    `rate`: jobs a second, 0 for all at once. `extra_attempts`: the runs asked for, None for as many as a new job has;
    `attempts_left`: the fewest and the most that a job has by its cap, None where that was not asked for. `age_since`:
    the field that ages were counted from, None likewise. `cascades`: the foreign keys by which other tables change.
    """

    counts: DeadCounts
    begun_at: float
    last_due_at: float | None
    rate: float
    extra_attempts: int | None
    attempts_left: tuple[int, int] | None = None
    age_since: str | None = None
    cascades: tuple[Cascade, ...] = ()
    dry_run: bool = False

    @property
    def outcome(self) -> Outcome:
        """`ok` if a job came back; `busy` if only locks stood in the way."""
        return self.counts.outcome

    @property
    def message(self) -> str:
        """How many jobs the database refused to have changed, and why the first of them."""
        return self.counts.message

    @property
    def spread_seconds(self) -> float:
        """Over how long the jobs come back."""
        return max(0.0, (self.last_due_at or self.begun_at) - self.begun_at)

    def logged(self) -> dict[str, Any]:
        """What the log says of a retry."""
        return {"retried": self.counts.jobs, "conflicts": self.counts.refused, "spread_seconds": self.spread_seconds}

    def as_done(self) -> RetryResult:
        """A plan with nothing in it as a run that found nothing."""
        return replace(self, counts=self.counts.as_done(), dry_run=False)

    def as_json(self) -> dict[str, Any]:
        """The run as `dead retry --json` shows it."""
        least, most = self.attempts_left or (None, None)
        last = None if self.last_due_at is None else datetime.fromtimestamp(self.last_due_at, UTC).isoformat()
        document = self.counts.as_json("retried") | {
            "rate": self.rate,
            "spread_seconds": self.spread_seconds,
            "last_available_at": last,
            "extra_attempts": self.extra_attempts,
            "least_attempts_left": least,
            "most_attempts_left": most,
            "age_since": self.age_since,
            "cascades": list(map(str, self.cascades)),
        }
        return document | ({"dry_run": True} if self.dry_run else {})
