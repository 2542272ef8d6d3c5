"""How the job tables and the reap log look once the last job is finished."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from soak.terms import statement

if TYPE_CHECKING:
    from soak.terms import JobTable
    from soak.watch import Watch


class Row(NamedTuple):
    """One job as it lies in the job table, or (`moved`) in the dead-letter table."""

    job: int
    status: str
    version: int
    attempts: int
    moved: bool


class Taken(NamedTuple):
    """One line of the reap log; `at_us` is the reaper's time, in microseconds of the epoch."""

    number: int
    job: int
    version: int
    outcome: str
    at_us: int


@dataclass(frozen=True, slots=True)
class Final:
    """One job table: its rows (several of one id only by mistake), and what the log says was taken back."""

    rows: tuple[Row, ...]
    log: tuple[Taken, ...]

    def copies(self) -> dict[int, int]:
        """The ids that are there more than once, with how often."""
        return {job: times for job, times in Counter(row.job for row in self.rows).items() if times > 1}


def read(watch: Watch, table: JobTable) -> Final:
    """Read all of it."""
    return Final(
        tuple(Row(*row) for row in watch.ask(table.statement("list_jobs"))),
        tuple(Taken(*row) for row in watch.ask(statement("list_log"), {"job_table": table.name})),
    )
