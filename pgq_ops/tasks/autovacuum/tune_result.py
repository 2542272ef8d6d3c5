"""What one run of the tuner did, or would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pgq_ops.tasks.autovacuum.setting_actions import statement
from pgq_ops.tasks.autovacuum.setting_outcome import SettingChange, SettingFate
from pgq_ops.tasks.task import Outcome

if TYPE_CHECKING:
    from pgq_ops.stats.dead_row_budget import Budget
    from pgq_ops.tasks.autovacuum.leaf_plan import LeafPlan

IN_THE_WAY = (SettingFate.BUSY, SettingFate.STALE)
"""What another time may do."""


@dataclass(frozen=True, slots=True)
class TunedLeaf:
    """One leaf: its plan, and what became of it (of a plan alone: what would, as far as that can be told).

    `reason`: why nothing was changed. `grant`: what would permit it.
    """

    plan: LeafPlan
    fate: SettingFate
    reason: str = ""
    grant: str = ""

    def __str__(self) -> str:
        return str(self.plan.storage.relation)

    @property
    def statement(self) -> str:
        """The change as SQL to paste; empty where there is none."""
        changes = [SettingChange(one.parameter, one.now, one.value) for one in self.plan.changes]
        return statement(self.plan.storage.relation, changes) if changes else ""

    def as_json(self) -> dict[str, Any]:
        """The leaf as `--json` shows it; null is what is not set, or not there."""
        return {
            "table": str(self),
            "changes": [
                {"parameter": one.parameter, "from": one.now, "to": one.value, "reason": one.reason}
                for one in self.plan.changes
            ],
            "kept": [
                {"parameter": one.parameter, "value": one.now, "wanted": one.value, "reason": one.keeps}
                for one in self.plan.wanted
                if one.keeps
            ],
            "advice": [{"text": one.text, "statement": one.statement or None} for one in self.plan.advice],
            "outcome": str(self.fate),
            "reason": self.reason or None,
            "statement": self.statement or None,
            "grant": self.grant or None,
        }


@dataclass(frozen=True, slots=True)
class TuneResult:
    """All leaves of a job table, in the order of their names, and the budget that they were planned by.

    `dry_run`: nothing was to be changed. `by_config`: nor is an agent to, as the section has `mode = "plan"`.
    `again_seconds`: when an agent is to run next, None at the usual time.
    """

    leaves: tuple[TunedLeaf, ...] = ()
    budget: Budget | None = None
    dry_run: bool = False
    by_config: bool = False
    again_seconds: float | None = None

    def with_fate(self, *fates: SettingFate) -> tuple[TunedLeaf, ...]:
        """The leaves that came to this."""
        return tuple(one for one in self.leaves if one.fate in fates)

    @property
    def parameters(self) -> int:
        """How many parameters were changed, or would be."""
        return sum(len(one.plan.changes) for one in self.with_fate(SettingFate.CHANGED))

    @property
    def outcome(self) -> Outcome:
        """`ok` if a leaf was changed; `busy` if only locks, or other hands, stood in the way."""
        if self.with_fate(SettingFate.CHANGED) and not self.dry_run:
            return Outcome.OK
        return Outcome.BUSY if self.with_fate(*IN_THE_WAY) else Outcome.NOTHING

    @property
    def message(self) -> str:
        """How much was changed, and what was in the way."""
        parts = []
        if changed := self.with_fate(SettingFate.CHANGED):
            verb = "would set" if self.dry_run else "set"
            why = ' with mode = "apply"' if self.by_config else ""
            parts.append(f"{verb} {_counted(self.parameters, 'parameter')} of {_counted(len(changed), 'table')}{why}")
        for fates, what in ((IN_THE_WAY, "busy"), ((SettingFate.NOT_PERMITTED,), "not permitted")):
            if there := self.with_fate(*fates):
                more = f" and {len(there) - 1} more" if len(there) > 1 else ""
                parts.append(f"{what}: {there[0]}{more}")
        return "; ".join(parts)

    def as_json(self) -> dict[str, Any]:
        """The table as `autovacuum plan --json` and `apply --json` show it; the numbers are of leaves."""
        return {
            "dead_tuple_budget": None if self.budget is None else self.budget.rows,
            "dead_tuple_budget_reason": None if self.budget is None else self.budget.reason,
            "leaves": [one.as_json() for one in self.leaves],
            "changed": len(self.with_fate(SettingFate.CHANGED)),
            "busy": len(self.with_fate(*IN_THE_WAY)),
            "not_permitted": len(self.with_fate(SettingFate.NOT_PERMITTED)),
            "refused": len(self.with_fate(SettingFate.REFUSED)),
        } | ({"dry_run": True} if self.dry_run else {})


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
