"""What the workers' record says of each claim: who had it until when, and what was tried under it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from soak.record import Attempt

# The ways in which a worker itself ends a claim.
ENDINGS = ("complete", "release", "give_up")


@dataclass(slots=True)
class Claim:
    """One claim of a job. Times are the database's, in microseconds of the epoch.

    `until_us`: the latest end of its lease that a worker was told of; `claimed_us`: when it was told of the claim.
    `ended`: the ending that changed the row; `tried`: the one whose outcome is unknown. `refused`: when a statement
    under it changed nothing, and the lease's end that the worker knew then.
    """

    until_us: int
    claimed_us: int
    holders: list[str]
    ended: list[str] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    refused: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class History:
    """One job table's record. `claims` by job and version; `unknown_*` counts attempts whose outcome is unknown."""

    enqueued: set[int] = field(default_factory=set)
    claims: dict[tuple[int, int], Claim] = field(default_factory=dict)
    attempts: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    unknown_jobs: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    def add(self, attempt: Attempt) -> None:
        """Take in the next attempt of a worker."""
        self.attempts[attempt.action] += 1
        if attempt.error:
            self.errors[attempt.error] += 1
        if attempt.rows is None:
            self._unknown(attempt)
        elif attempt.action == "enqueue":
            self.enqueued.update(job for (job,) in attempt.rows)
        elif attempt.action == "claim":
            for job, version, _, until_us, at_us in attempt.rows:
                known = self.claims.setdefault((job, version), Claim(until_us, at_us, []))
                known.holders.append(attempt.worker)
        else:
            self._told(attempt, attempt.rows[0])

    def _unknown(self, attempt: Attempt) -> None:
        self.unknown[attempt.action] += 1
        self.unknown_jobs += attempt.jobs
        if attempt.action in ENDINGS:
            self.claims[attempt.job, attempt.version].tried.append(attempt.action)

    def _told(self, attempt: Attempt, row: tuple[int, ...]) -> None:
        claim = self.claims[attempt.job, attempt.version]
        changed, until_us, at_us = row
        if not changed:
            claim.refused.append((at_us, claim.until_us))
        elif attempt.action == "extend":
            claim.until_us = until_us
        else:
            claim.ended.append(attempt.action)


def histories(attempts: Iterable[Attempt]) -> dict[str, History]:
    """The record by job table."""
    found: dict[str, History] = {}
    for attempt in attempts:
        found.setdefault(attempt.table, History()).add(attempt)
    return found
