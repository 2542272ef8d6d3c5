"""One statement of upkeep that a job table needs, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.tasks.upkeep.order import Order


class Why(IntEnum):
    """What for, the most urgent first.

    `LOST`: the statistics were, so that autovacuum counts from zero. `FAST`: rows die faster than autovacuum can come.
    `OVERDUE`: it should have come. `UNSET`: it waits for more dead rows than a claim can bear. `STATISTICS`: a
    partitioned table's own, which nobody else collects. `CLOSED`: no row comes to a partition any more.
    """

    LOST = auto()
    FAST = auto()
    OVERDUE = auto()
    UNSET = auto()
    STATISTICS = auto()
    CLOSED = auto()


@dataclass(frozen=True, slots=True)
class Need:
    """`reason`: in numbers. `dead_rows`: as far as they are known."""

    why: Why
    order: Order
    reason: str
    dead_rows: int = 0

    def __str__(self) -> str:
        return f"{self.order}: {self.reason}"
