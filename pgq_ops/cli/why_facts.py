"""All that is known of one job, bundled: what the sentences are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.errors import PgqOpsError
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.job_life import JobLife
    from pgq_ops.stats.job_life_line import Line
    from pgq_ops.stats.job_life_lock import RowLock
    from pgq_ops.stats.reap_history import Event
    from pgq_ops.stats.task_runs import TaskRun


@dataclass(frozen=True, slots=True)
class Reaper:
    """Who reaps the job table.

    `reaping`: whether an agent does, None where that is not known. `run`: its last pass, if one is recorded.
    `recorded`: whether passes are recorded where this role can read it. `asked`: whether the configuration at hand
    has an agent reap. `problem`: what keeps the table from being reaped at all; empty if nothing.
    `uptime_seconds` of the server: for `reaper.settle` after its start nothing is reaped. `unread`: the record of the
    passes could not be read just now.
    """

    reaping: bool | None
    run: TaskRun | None
    recorded: bool
    asked: bool
    problem: str
    uptime_seconds: float
    unread: bool = False


@dataclass(frozen=True, slots=True)
class JobFacts:
    """One job at `now` (ISO 8601, database clock).

    `lock` on its row, if any; `lock_unknown` says why that could not be seen, `lock_grant` is what
    would let it be. `line`: what stands before a ready job.
    `history`: what the reap log holds of it, the latest first; `history_unknown` says why that could not be read.
    `mass_expired`: how many leases under the job's policy are expired, where that is more than reaper.mass_expiry
    allows at once. `section`: what must be written into a file before a command can act; empty if one knows the table.
    """

    table: JobTable
    now: str
    life: JobLife
    reaper: Reaper
    lock: RowLock | None = None
    lock_unknown: str = ""
    lock_grant: str = ""
    line: Line | None = None
    history: tuple[Event, ...] | None = None
    history_unknown: str = ""
    mass_expired: int = 0
    section: str = ""

    def has(self, field: str) -> bool:
        """Whether a field is mapped."""
        return field in self.table.fields


@dataclass(frozen=True, slots=True)
class Found:
    """What one job table knows of the id. `forgotten`: what the reap log holds of a job that is not there any more."""

    name: str
    jobs: tuple[JobFacts, ...] = ()
    forgotten: tuple[Event, ...] = ()
    now: str = ""
    error: PgqOpsError | None = None
