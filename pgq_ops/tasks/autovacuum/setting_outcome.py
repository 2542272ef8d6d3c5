"""What became of the storage parameters of one leaf."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pgq_ops.job_table.table import Relation


class SettingFate(StrEnum):
    """How it ended for a leaf; of a plan, how it would end.

    `changed`: some were set or put back. `same`: nothing was to be done. `busy`: a vacuum or another lock was in the
    way, to be tried again later. `stale`: a value was not the one that the plan was made for. `not_permitted`: the role
    may not. `refused`: the server would not. `skipped`: pgq-ops changes no such relation. `gone`: the leaf is.
    """

    CHANGED = "changed"
    SAME = "same"
    BUSY = "busy"
    STALE = "stale"
    NOT_PERMITTED = "not_permitted"
    REFUSED = "refused"
    SKIPPED = "skipped"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One parameter (`toast.` before the TOAST table's), its value before and after; None: not set."""

    parameter: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.after is None:
            return f"{self.parameter}: {self.before}, removed"
        return f"{self.parameter} = {self.after} ({'not set' if self.before is None else self.before} before)"

    def as_json(self) -> dict[str, Any]:
        """Null is what is not set."""
        return {"parameter": self.parameter, "before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True)
class LeafOutcome:
    """One leaf and what became of it.

    `changes`: what was changed, or would be. `left`: of a revert, what somebody else set since, which stays: `before`
    is what pgq-ops had set, `after` what is there. `reason`: why nothing was done. `statement`: the change as SQL to
    paste, where there is one. `grant`: what would permit it, as SQL to paste.
    """

    relation: Relation
    fate: SettingFate
    changes: tuple[SettingChange, ...] = ()
    left: tuple[SettingChange, ...] = ()
    reason: str = ""
    statement: str = ""
    grant: str = ""

    def as_json(self) -> dict[str, Any]:
        """The leaf as `autovacuum apply --json` and `revert --json` show it."""
        return {
            "table": str(self.relation),
            "outcome": str(self.fate),
            "changes": [change.as_json() for change in self.changes],
            "left": [change.as_json() for change in self.left],
            "reason": self.reason or None,
            "statement": self.statement or None,
            "grant": self.grant or None,
        }
