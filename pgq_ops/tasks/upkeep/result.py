"""What one look of upkeep came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pgq_ops.tasks.task import Outcome
from pgq_ops.tasks.upkeep.ending import VacuumFate

if TYPE_CHECKING:
    from pgq_ops.stats.vacuum_reach import Reach
    from pgq_ops.tasks.upkeep.ending import VacuumEnd
    from pgq_ops.tasks.upkeep.need import Need

_OUTCOMES = {
    VacuumFate.OK: Outcome.OK,
    VacuumFate.NOTHING: Outcome.NOTHING,
    VacuumFate.USELESS: Outcome.NOTHING,
    VacuumFate.BUSY: Outcome.BUSY,
    VacuumFate.CANCELLED: Outcome.BUSY,
}


@dataclass(frozen=True, slots=True)
class UpkeepResult:
    """`end`: of what was run. `needs`: what is needed beside it; `acts`: whether it is run, or only told.

    `outpaced`: where rows have died for some minutes faster than autovacuum can come. `held`: who keeps the dead rows
    that would be vacuumed. `refused`: why it may not be done, with the GRANT. `again_seconds`: when to look again.
    """

    end: VacuumEnd | None = None
    needs: tuple[Need, ...] = ()
    acts: bool = True
    outpaced: tuple[Reach, ...] = ()
    held: str = ""
    refused: str = ""
    again_seconds: float | None = None
    dry_run: bool = False

    @property
    def outcome(self) -> Outcome:
        """By what was run."""
        return Outcome.NOTHING if self.end is None else _OUTCOMES.get(self.end.fate, Outcome.FAILED)

    @property
    def message(self) -> str:
        """What was run, or would be; without numbers that change at each look."""
        if self.end is not None:
            return str(self.end)
        if self.refused:
            return self.refused
        if self.held:
            return f"no VACUUM while it removes nothing: {self.held}"
        return "; ".join(f"would {need.order}" for need in self.needs) if not self.acts or self.dry_run else ""

    def as_json(self) -> dict[str, Any]:
        """Null is what was not run, or is not known."""
        needs = [
            {"table": str(need.order.relation), "statement": str(need.order), "reason": need.reason}
            for need in self.needs
        ]
        end = self.end
        ran = (
            None
            if end is None
            else {
                "statement": str(end.order),
                "outcome": str(end.fate),
                "seconds": round(end.seconds, 3),
                "removed_rows": end.removed_rows,
                "left_rows": end.left_rows,
                "reason": end.reason or None,
            }
        )
        mark = {"dry_run": True} if self.dry_run else {}
        return {"ran": ran, "needs": needs, "held": self.held or None, "refused": self.refused or None, **mark}
