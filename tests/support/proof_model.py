"""What the design says of jobs, workers and the reaper, in a few lines of Python: the proof compares with this."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.support import proof_ground as ground_

if TYPE_CHECKING:
    from tests.support.proof_clock import ProofClock
    from tests.support.proof_ground import Ground
    from tests.support.proof_stage import Row


@dataclass(slots=True)
class Model:
    """The jobs as they should be committed now, by id.

    `held`: rows as open transactions of workers have changed them. `job_columns`, `dead_columns`: those that were
    added, with their defaults.
    """

    ground: Ground
    clock: ProofClock
    jobs: dict[int, Row] = field(default_factory=dict)
    dead: dict[int, Row] = field(default_factory=dict)
    held: dict[int, Row] = field(default_factory=dict)
    job_columns: dict[str, str | None] = field(default_factory=dict)
    dead_columns: dict[str, str | None] = field(default_factory=dict)

    def ends_at(self, row: Row) -> float | None:
        """When the job may be taken back: the lease's end and the grace. None while nobody runs it."""
        if row["status"] != "running" or row[self.ground.lease] is None:
            return None
        return float(row[self.ground.lease]) + self.ground.lease_seconds + ground_.GRACE_SECONDS

    def is_reapable(self, row: Row, *, include_stale: bool = False) -> bool:
        """Whether a reap takes the job now."""
        ends_at, now = self.ends_at(row), self.clock.seconds
        if ends_at is None or ends_at > now:
            return False
        return include_stale or ends_at + ground_.MAX_EXPIRED_AGE_SECONDS > now

    def reapable(self, *, include_stale: bool = False) -> set[int]:
        """The jobs that a reap takes now, those that somebody holds left out."""
        found = {job for job, row in self.jobs.items() if self.is_reapable(row, include_stale=include_stale)}
        return found - set(self.held)

    def due(self) -> list[int]:
        """The jobs that a claim may take now."""
        return [
            job
            for job, row in self.jobs.items()
            if row["status"] == "pending" and row[self.ground.available] <= self.clock.seconds and job not in self.held
        ]

    def deceased(self) -> set[int]:
        """The jobs that are dead, in either table."""
        return {job for job, row in self.jobs.items() if row["status"] == self.ground.dead} | set(self.dead)

    def standing(self, job: int) -> tuple[Row, bool]:
        """The job's row, and whether it is in the dead-letter table."""
        return (self.dead[job], True) if job in self.dead else (self.jobs[job], False)

    def put(self, job: int, row: Row, *, moved: bool) -> None:
        """The job is so, and there, from now on."""
        for place in (self.jobs, self.dead):
            place.pop(job, None)
        (self.dead if moved else self.jobs)[job] = row

    def misfit(self) -> bool:
        """Whether jobs have a column that the dead-letter table lacks."""
        return bool(self.ground.dead_table) and not set(self.job_columns) <= set(self.dead_columns)

    def free(self) -> Row:
        """What makes a job one that waits and is nobody's."""
        owner = {"claimed_by": None} if self.ground.fenced else {}
        return {"status": "pending", self.ground.lease: None} | owner

    def only_there(self) -> Row:
        """The columns that only the dead-letter table has, as it fills them."""
        added = {name: default for name, default in self.dead_columns.items() if name not in self.job_columns}
        return {"buried_by": "pgq-ops"} | added

    def backoff_seconds(self, attempts: int) -> float:
        """The design's formula, with the dice as they lie."""
        delay: float = min(ground_.BACKOFF_MAX_SECONDS, ground_.BACKOFF_BASE_SECONDS * ground_.BACKOFF_FACTOR**attempts)
        return delay * (1 - ground_.BACKOFF_JITTER * self.clock.dice)

    def at_the_latest(self, seconds: float) -> float:
        """The moment, or a second before the end of the last partition."""
        runway = self.ground.runway_seconds
        return seconds if runway is None else min(seconds, runway - 1)
