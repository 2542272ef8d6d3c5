"""What a reap and a retry may make of which jobs, from the design's words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tests.support import proof_ground as ground_

if TYPE_CHECKING:
    from tests.support.proof_model import Model
    from tests.support.proof_stage import Row


class Standing(NamedTuple):
    """A job's row, and whether it is in the dead-letter table."""

    row: Row
    moved: bool = False


class Action(Protocol):
    """One kind of change that the product makes to jobs."""

    def takes(self) -> set[int]:
        """The jobs that it takes now."""
        ...

    def outcome(self, was: Standing, now: Standing, moments: list[float]) -> str | None:
        """What became of a job between two looks, None where that must not be; `moments`: when it may have been."""
        ...


@dataclass(frozen=True, slots=True)
class Reaping:
    """An expired job is pending again after the backoff, without owner and lease; after its last attempt it is dead."""

    model: Model
    include_stale: bool = False

    def takes(self) -> set[int]:
        return self.model.reapable(include_stale=self.include_stale)

    def outcome(self, was: Standing, now: Standing, moments: list[float]) -> str | None:
        model = self.model
        attempts = was.row["attempts"] + model.ground.counted
        counted = was.row | {"attempts": attempts}
        if attempts >= ground_.CAP:
            buried = counted | {"status": model.ground.dead}
            if model.ground.dead_table:
                buried |= model.only_there()
            return "dead_lettered" if now == Standing(buried, bool(model.ground.dead_table)) else None
        delay = model.backoff_seconds(was.row["attempts"])
        requeued = [
            Standing(counted | model.free() | {model.ground.available: model.at_the_latest(moment + delay)})
            for moment in moments
        ]
        return "requeued" if now in requeued else None


@dataclass(frozen=True, slots=True)
class Retrying:
    """A dead job is pending again within the time that the rate asks for, as one that has never been tried.

    `rate`: jobs a second, 0 for all at once. `extra_attempts`: the runs that are left then, None for all. `most`: how
    many jobs the pass may come to.
    """

    model: Model
    rate: float
    extra_attempts: int | None
    most: int

    def takes(self) -> set[int]:
        return self.model.deceased()

    def outcome(self, was: Standing, now: Standing, moments: list[float]) -> str | None:
        model, available = self.model, self.model.ground.available
        attempts = 0 if self.extra_attempts is None else ground_.CAP - self.extra_attempts
        row = was.row | model.free()
        if was.moved:
            # Columns that jobs have got in the middle of the pass are filled by the job table itself.
            there = model.only_there()
            row = model.job_columns | {name: value for name, value in row.items() if name not in there}
        latest = moments[0] + (self.most / self.rate if self.rate else 0)
        in_time = model.at_the_latest(moments[0]) <= now.row[available] <= model.at_the_latest(latest)
        expected = Standing(row | {"attempts": attempts, available: now.row[available]})
        return "retried" if in_time and now == expected else None
