"""Counts what a retry or a purge of dead letters does, as it is committed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pgq_ops.tasks.task import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.job_table.dead_place import DeadPlace
    from pgq_ops.tasks.dead_statement import DeadRow

MOST_LOCKED_IDS = 100
# Each is told, those that were refused with the reason. Beyond this many they are only counted, so that a report stays
# one.
MOST_IDS = MOST_CONFLICTS = 10_000


class Conflict(NamedTuple):
    """A dead letter that the database refused to have changed, and its reason."""

    id: str | None
    table: str
    reason: str


@dataclass(frozen=True, slots=True)
class DeadCounts:
    """Dead letters by what became of them; in a plan what is not known before is None.

    `moved` of the `jobs` came from the dead-letter table. `ids` are the first of them, `conflicts` those that were
    refused (`refused` in all), `locked` those passed over since another session has them. `busy`: tables that were
    locked as a whole. `not_found`: ids that were asked for and are not dead; none whose table could not be read.
    """

    jobs: int = 0
    moved: int = 0
    ids: tuple[str, ...] = ()
    refused: int | None = 0
    conflicts: tuple[Conflict, ...] = ()
    locked: int | None = 0
    locked_ids: tuple[str, ...] = ()
    busy: tuple[str, ...] = ()
    not_found: tuple[str, ...] = ()

    def as_done(self) -> DeadCounts:
        """A plan with nothing in it as a run that found nothing."""
        return replace(self, refused=0, locked=0)

    @property
    def outcome(self) -> Outcome:
        """`ok` if a job was changed; `busy` if only locks stood in the way."""
        if self.jobs:
            return Outcome.OK
        return Outcome.BUSY if self.busy or self.locked else Outcome.NOTHING

    @property
    def message(self) -> str:
        """How many dead letters the database refused to have changed, and why the first of them."""
        if not self.refused or not self.conflicts:
            return ""
        return f"{self.refused} {'job' if self.refused == 1 else 'jobs'} refused: {self.conflicts[0].reason}"

    def as_json(self, verb: str) -> dict[str, Any]:
        """The keys that `dead retry --json` and `dead purge --json` share; `verb`: what the jobs were."""
        return {
            verb: self.jobs,
            "from_dead_letter_table": self.moved,
            "jobs": list(self.ids),
            "jobs_complete": len(self.ids) == self.jobs,
            "conflicts": self.refused,
            "conflict_jobs": [conflict._asdict() for conflict in self.conflicts],
            "locked": self.locked,
            "locked_jobs": list(self.locked_ids),
            "busy": list(self.busy),
            "not_found": list(self.not_found),
        }


@dataclass(slots=True)
class DeadTally:
    """The running count of one job table; `wanted_ids` are those that were asked for, if any were."""

    wanted_ids: tuple[str, ...] = ()
    numbers: Counter[str] = field(default_factory=Counter)
    ids: list[str] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    locked_ids: list[str] = field(default_factory=list)
    busy: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    last_due_at: float | None = None
    attempts_left: tuple[int, int] | None = None
    """The fewest and the most runs that a job has left; None where that was not asked for."""

    @property
    def jobs(self) -> int:
        """How many were changed so far."""
        return self.numbers["jobs"]

    def planned(
        self, place: DeadPlace, jobs: int, ids: Iterable[str | None], attempts_left: Iterable[int | None] = ()
    ) -> None:
        """Count what would be changed in one place."""
        self.numbers["jobs"] += jobs
        self.numbers["moved"] += jobs if place.is_dead_letter_table else 0
        for one in ids:
            self.note(one)
        for left in attempts_left:
            self._leaves(left)

    def done(self, place: DeadPlace, rows: Iterable[DeadRow]) -> None:
        """Count the rows of a committed batch."""
        for row in rows:
            if row.refusal is not None:
                self.refused(place, row, row.refusal)
                continue
            self.numbers["jobs"] += 1
            self.numbers["moved"] += place.is_dead_letter_table
            self.note(row.id)
            if row.due_at is not None:
                self.last_due_at = max(row.due_at, self.last_due_at or row.due_at)
            self._leaves(row.attempts_left)

    def note(self, job: str | None) -> None:
        """Keep the id of a job that was changed, or would be."""
        if job is not None:
            self.ids += [job] if len(self.ids) < MOST_IDS else []
            self._saw(job)

    def refused(self, place: DeadPlace, row: DeadRow, reason: str) -> None:
        """Count a row that was not changed, with the reason."""
        self.numbers["refused"] += 1
        self._saw(row.id)
        if len(self.conflicts) < MOST_CONFLICTS:
            self.conflicts.append(Conflict(row.id, str(place), reason))

    def locked(self, number: int, ids: Iterable[str | None]) -> None:
        """Count rows that were passed over."""
        self.numbers["locked"] += number
        known = [one for one in ids if one is not None]
        for one in known:
            self._saw(one)
        self.locked_ids += known[: MOST_LOCKED_IDS - len(self.locked_ids)]

    def missing(self) -> tuple[str, ...]:
        """The ids that were asked for and not met so far."""
        return tuple(one for one in self.wanted_ids if _spelled(one) not in self.seen)

    def are_there(self, ids: Iterable[str | None]) -> None:
        """Note that the jobs are dead and there, whatever kept them from being met."""
        for one in ids:
            self._saw(one)

    def _leaves(self, left: int | None) -> None:
        if left is not None:
            least, most = self.attempts_left or (left, left)
            self.attempts_left = min(left, least), max(left, most)

    def _saw(self, job: str | None) -> None:
        if self.wanted_ids and job is not None:
            self.seen.add(_spelled(job))

    def counts(self, *, planned: bool = False) -> DeadCounts:
        """What was done so far, or with `planned` would be."""
        return DeadCounts(
            jobs=self.jobs,
            moved=self.numbers["moved"],
            ids=tuple(self.ids),
            refused=None if planned else self.numbers["refused"],
            conflicts=tuple(self.conflicts),
            locked=None if planned else self.numbers["locked"],
            locked_ids=tuple(self.locked_ids),
            busy=tuple(self.busy),
            not_found=self.missing(),
        )


def _spelled(job: str) -> str:
    """One spelling of ids that mean the same: 007 and 7, a UUID in capitals."""
    text = job.strip().casefold()
    return (text.lstrip("0") or "0") if text.isdecimal() else text
