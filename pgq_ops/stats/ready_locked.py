"""Ready jobs that somebody holds locked: an empty claim does not mean an empty queue."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LockHolder:
    """A session that holds row locks on ready jobs; `seconds` since its transaction began (None: not visible)."""

    pid: int
    application_name: str
    user: str
    state: str
    seconds: float | None
    jobs: int


@dataclass(frozen=True, slots=True)
class ReadyLocked:
    """Of the first `looked_at` ready jobs (100 at most) in the claim's order, `locked` are held by somebody now."""

    looked_at: int
    locked: int
    holders: tuple[LockHolder, ...] = ()
