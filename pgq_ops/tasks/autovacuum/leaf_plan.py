"""What a leaf's settings ought to be, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.stats.storage_parameters import LeafStorage


@dataclass(frozen=True, slots=True)
class Wanted:
    """One storage parameter (`toast.` and its name for the TOAST table's) and the value it ought to have.

    `now`: the value that is set, as PostgreSQL keeps it; None where none is. `reason`: why, in numbers. `keeps`: why
    it is left as it is though `value` differs (the DBA's own is stricter, or the difference is small); empty where it
    is to be changed or is right.
    """

    parameter: str
    value: str
    reason: str
    now: str | None = None
    keeps: str = ""

    @property
    def differs(self) -> bool:
        """Whether it is to be changed."""
        return self.now != self.value and not self.keeps


@dataclass(frozen=True, slots=True)
class Advice:
    """What pgq-ops does not change itself: one line for people, and the statement to run, if there is one."""

    text: str
    statement: str = ""


@dataclass(frozen=True, slots=True)
class LeafPlan:
    """One leaf's. `advice`: what is to be said beside it."""

    storage: LeafStorage
    wanted: tuple[Wanted, ...] = ()
    advice: tuple[Advice, ...] = ()

    @property
    def changes(self) -> tuple[Wanted, ...]:
        """What is to be changed."""
        return tuple(one for one in self.wanted if one.differs)
