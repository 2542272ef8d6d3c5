"""What the agent's reaper remembers between passes. A command that a person types starts with none of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.config.policy import MassExpiry, QueuePolicy
    from pgq_ops.stats.index_support import IndexSupport

Monotonic = Callable[[], float]

# A refused row is tried again after a minute, then after twice as long each time: each try costs a dead
# row version of the user's table and up to 20 small statements.
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 60.0, 3_600.0
TOLD_EVERY_SECONDS = 86_400.0
# Beyond this many the addresses would cost more to pass than the tries; the oldest are forgotten first.
MOST_REMEMBERED = 1_000
# Without an index each look scans the table: then looking may take this share of the time, no more.
SCAN_SHARE = 0.05


# A GRANT, an index or an installed schema is noticed after this long; asking each time would cost more than
# an idle look for expired leases.
STANDING_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Standing:
    """What the reaper may do and what helps it: whether the reap log can be written, and which indexes serve."""

    logged: bool
    support: IndexSupport


@dataclass(slots=True)
class Refusal:
    """A row that could not be written: when it may be tried again, when it was last told of, and why."""

    pause_seconds: float
    try_again_at: float
    told_at: float
    reason: str
    swallowed: bool


@dataclass(slots=True)
class ReapMemory:
    """The memory of one job table's reaper; times are monotonic seconds."""

    clock: Monotonic = time.monotonic
    refusals: dict[tuple[int, str], Refusal] = field(default_factory=dict)
    mass_steps: dict[str | None, int] = field(default_factory=dict)
    last_pass: dict[str | None, float] = field(default_factory=dict)
    next_scan: dict[int, float] = field(default_factory=dict)
    next_block: dict[tuple[int, str | None], int] = field(default_factory=dict)
    standing: Standing | None = None
    standing_read_at: float = 0.0

    def known_standing(self) -> Standing | None:
        """What was last found out about the table, unless it is too old."""
        return self.standing if self.clock() - self.standing_read_at < STANDING_SECONDS else None

    def found(self, standing: Standing) -> None:
        """Note what was found out about the table."""
        self.standing, self.standing_read_at = standing, self.clock()

    def is_due(self, policy: QueuePolicy) -> bool:
        """Whether the policy's own `every` has passed since its last whole pass began."""
        last = self.last_pass.get(policy.queue)
        # The scheduler's ticks jitter by a few milliseconds: a tick that is early by less than a tenth counts.
        return last is None or self.clock() - last >= policy.reaper.every.total_seconds() * 0.9

    def passed(self, policy: QueuePolicy, began: float) -> None:
        """Note a whole pass. One that an error, a lock or the guard cut short is taken up again when that is over."""
        self.last_pass[policy.queue] = began

    def refused(self, relation_oid: int, key: str, reason: str, *, swallowed: bool) -> bool:
        """Note that a row was refused, maybe without an error; True where it has not been told of within a day."""
        now = self.clock()
        known = self.refusals.pop((relation_oid, key), None)
        pause = FIRST_PAUSE_SECONDS if known is None else min(known.pause_seconds * 2, LONGEST_PAUSE_SECONDS)
        tell = known is None or now - known.told_at >= TOLD_EVERY_SECONDS
        told_at = now if tell or known is None else known.told_at
        self.refusals[relation_oid, key] = Refusal(pause, now + pause, told_at, reason, swallowed)
        while len(self.refusals) > MOST_REMEMBERED:
            self.refusals.pop(next(iter(self.refusals)))
        return tell

    def refusals_now(self) -> list[Refusal]:
        """The rows that are still refused, as far as is known: one that is due to be tried is given time for it."""
        now = self.clock()
        return [refusal for refusal in self.refusals.values() if refusal.try_again_at > now - FIRST_PAUSE_SECONDS]

    def skipped(self, relation_oid: int) -> list[str]:
        """The addresses in a relation that are left alone for now."""
        now = self.clock()
        return [
            key for (oid, key), refusal in self.refusals.items() if oid == relation_oid and refusal.try_again_at > now
        ]

    def first_limit(self, queue: str | None, guard: MassExpiry) -> int:
        """How many rows a pass may take before it must look whether leases expire in a mass."""
        return int(guard.minimum * 2 ** min(self.mass_steps.get(queue, 0), 40))

    def mass_expiry(self, queue: str | None, *, going_on: bool) -> None:
        """Note whether a pass met a mass expiry: the next one may take twice as many."""
        self.mass_steps[queue] = self.mass_steps.get(queue, 0) + 1 if going_on else 0

    def may_scan(self, relation_oid: int) -> bool:
        """Whether a relation without a fitting index may be gone through again."""
        return self.clock() >= self.next_scan.get(relation_oid, 0.0)

    def scanned(self, relation_oid: int, seconds: float) -> None:
        """Note how long it took."""
        self.next_scan[relation_oid] = self.clock() + seconds / SCAN_SHARE
