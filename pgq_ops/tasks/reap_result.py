"""What one pass of the reaper did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pgq_ops.tasks.task import Outcome


@dataclass(frozen=True, slots=True)
class ReapResult:
    """Jobs by what became of them.

    `conflicts`: refused by the user's own constraint or trigger, `swallowed` of them without an error.
    `locked`: rows that could not be had within the lock timeout; `busy`: tables that could not be written at all.
    `mass_expired`: more than 0 where the pass stopped early, as that many leases had expired at once.
    `example` is the database's reason for one of the conflicts.
    `still_refused` counts those of this and earlier passes that the agent leaves alone for a while.
    `stale` and `remaining` (still expired) are counted after the pass, for a person; None where nobody asked.
    """

    requeued: int = 0
    dead_lettered: int = 0
    conflicts: int = 0
    swallowed: int = 0
    locked: int = 0
    busy: tuple[str, ...] = ()
    mass_expired: int = 0
    example: str = ""
    still_refused: int = 0
    still_swallowed: int = 0
    stale: int | None = None
    remaining: int | None = None
    dry_run: bool = False

    @property
    def outcome(self) -> Outcome:
        """`ok` if a job changed; `busy` if only locks stood in the way."""
        if self.requeued or self.dead_lettered:
            return Outcome.OK
        return Outcome.BUSY if self.busy or self.locked else Outcome.NOTHING

    @property
    def message(self) -> str:
        """The jobs that are left as they are because the database refused to have them changed, and why."""
        refused = max(self.conflicts, self.still_refused)
        return f"{refused} {'job' if refused == 1 else 'jobs'} refused: {self.example}" if refused else ""

    def as_json(self) -> dict[str, Any]:
        """The keys of `reap --json` (design §3), and what else there is to say."""
        document: dict[str, Any] = {
            "requeued": self.requeued,
            "dead_lettered": self.dead_lettered,
            "conflicts": self.conflicts,
            "stale": self.stale,
            "remaining": self.remaining,
            "locked": self.locked,
            "busy": list(self.busy),
        }
        return document | ({"dry_run": True} if self.dry_run else {})
