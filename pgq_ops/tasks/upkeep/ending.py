"""How a VACUUM or ANALYZE of ours ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.tasks.upkeep.order import Order


class VacuumFate(StrEnum):
    """As `pgqops_vacuums_total` counts it.

    `ok`: the statistics know of it. `nothing`: it was not begun, since the table is gone. `busy`: a lock was in the
    way. `useless`: the horizon is held, so that it removed little. `not_permitted`: the role may not. `cancelled`:
    somebody waited for it, or leadership was lost, or nobody could watch it. `unfinished`: its time was over; the next
    one goes on. `failed`: for any other reason.
    """

    OK = "ok"
    NOTHING = "nothing"
    BUSY = "busy"
    USELESS = "useless"
    NOT_PERMITTED = "not_permitted"
    CANCELLED = "cancelled"
    UNFINISHED = "unfinished"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class VacuumEnd:
    """`removed_rows`, `left_rows`: of dead rows; None where the statistics do not tell.

    `at`: when it ended, in epoch seconds by the database's clock. `reason`: why it did not do what it was to.
    `grant`: what would permit it, as SQL to paste.
    """

    order: Order
    fate: VacuumFate
    seconds: float = 0.0
    removed_rows: int | None = None
    left_rows: int | None = None
    at: float | None = None
    reason: str = ""
    grant: str = ""

    def __str__(self) -> str:
        if self.fate is VacuumFate.OK:
            rows = "" if self.removed_rows is None else f", {self.removed_rows:,} dead rows removed"
            return f"{self.order}: {self.seconds:.1f} s{rows}"
        words = str(self.fate).replace("_", " ")
        return f"{self.order}: {words}" + (f" ({self.reason})" if self.reason else "")
