"""What one round of ending idle transactions did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pgq_ops.tasks.end_session import Fate, SessionEnd
from pgq_ops.tasks.task import Outcome


@dataclass(frozen=True, slots=True)
class EndResult:
    """The sessions that were due, in the order in which they were tried."""

    sessions: tuple[SessionEnd, ...] = ()
    dry_run: bool = False

    def with_fate(self, fate: Fate) -> tuple[SessionEnd, ...]:
        """Those of one fate."""
        return tuple(one for one in self.sessions if one.fate is fate)

    @property
    def outcome(self) -> Outcome:
        """`ok` if a session was ended."""
        return Outcome.OK if self.with_fate(Fate.ENDED) else Outcome.NOTHING

    @property
    def message(self) -> str:
        """Who was ended, or would be."""
        verb = "would end" if self.dry_run else "ended"
        return "; ".join(f"{verb} {one}" for one in self.with_fate(Fate.ENDED))

    def as_json(self) -> dict[str, Any]:
        """The keys of `transactions end --json`."""
        mark = {"dry_run": True} if self.dry_run else {}
        return {"sessions": [one.as_json() for one in self.sessions], **mark}
