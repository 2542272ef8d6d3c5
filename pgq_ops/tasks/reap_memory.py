"""What the agent's reaper remembers between passes. A command that a person types starts with none of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pgq_ops.config.policy import MassExpiry, QueuePolicy
    from pgq_ops.tasks.reap_standing import Standing
    from pgq_ops.tasks.reap_sweep import Cut, Refused

Monotonic = Callable[[], float]
T = TypeVar("T")

# A refused row is tried again after a minute, then after twice as long each time: each try costs a dead
# row version of the user's table and up to 20 small statements.
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 60.0, 3_600.0
# One that waits for another transaction's end is tried again sooner: most end soon.
FIRST_LOCK_PAUSE_SECONDS = 10.0
TOLD_EVERY_SECONDS = 86_400.0
# Beyond this many the addresses would cost more to pass than the tries; the oldest are forgotten first.
MOST_REMEMBERED = 5_000
# Without an index each look scans the table: then looking may take this share of the time, no more.
SCAN_SHARE = 0.05


# A GRANT, an index or an installed schema is noticed after this long; asking each time would cost more than
# an idle look for expired leases.
STANDING_SECONDS = 20.0


@dataclass(slots=True)
class Refusal:
    """A row that could not be written: when it may be tried again, when it was last told of, and why.

    `locked`: another transaction may still make way for it.
    """

    pause_seconds: float
    try_again_at: float
    told_at: float
    reason: str
    swallowed: bool
    locked: bool


@dataclass(slots=True)
class ReapMemory:
    """The memory of one job table's reaper; times are monotonic seconds."""

    clock: Monotonic = time.monotonic
    refusals: dict[tuple[int, str], Refusal] = field(default_factory=dict)
    mass_steps: dict[str | None, int] = field(default_factory=dict)
    last_pass: dict[str | None, float] = field(default_factory=dict)
    next_scan: dict[int, float] = field(default_factory=dict)
    next_block: dict[tuple[int, str | None], int] = field(default_factory=dict)
    cuts: dict[Hashable, Cut] = field(default_factory=dict)
    turns: dict[Hashable, int] = field(default_factory=dict)
    turn: int = 0
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
        """Note a whole pass.

        One that an error, a lock or the guard cut short goes on when that is over, and a whole one follows it.
        """
        self.last_pass[policy.queue] = began

    def refused(self, relation_oid: int, row: Refused) -> bool:
        """Note that a row could not be written; True where it is to be told: refused, and not told of within a day."""
        now = self.clock()
        known = self.refusals.pop((relation_oid, row.key), None)
        if known is None:
            pause = FIRST_LOCK_PAUSE_SECONDS if row.locked else FIRST_PAUSE_SECONDS
        else:
            pause = min(known.pause_seconds * 2, LONGEST_PAUSE_SECONDS)
        told_at = -math.inf if known is None else known.told_at
        tell = not row.locked and now - told_at >= TOLD_EVERY_SECONDS
        self.refusals[relation_oid, row.key] = Refusal(
            pause, now + pause, now if tell else told_at, row.reason, row.swallowed, row.locked
        )
        while len(self.refusals) > MOST_REMEMBERED:
            self.refusals.pop(next(iter(self.refusals)))
        return tell

    def refusals_now(self) -> list[Refusal]:
        """The rows that are still refused, as far as is known: one that is due to be tried is given time for it."""
        now = self.clock()
        return [
            refusal
            for refusal in self.refusals.values()
            if not refusal.locked and refusal.try_again_at > now - FIRST_PAUSE_SECONDS
        ]

    def skipped(self, relation_oid: int) -> list[str]:
        """The addresses in a relation that are left alone for now."""
        now = self.clock()
        return [
            key for (oid, key), refusal in self.refusals.items() if oid == relation_oid and refusal.try_again_at > now
        ]

    def resume(self, sweep: Hashable) -> Cut | None:
        """Where a sweep was cut short the last time, if it was; it is not told again."""
        return self.cuts.pop(sweep, None)

    def cut_short(self, sweep: Hashable, cut: Cut | None) -> None:
        """Note where a sweep was cut short; None where it reached its end."""
        if cut is not None:
            self.cuts[sweep] = cut

    def in_turn(self, things: list[T], name: Callable[[T], Hashable]) -> list[T]:
        """The things, those first whose turn was longest ago: a pass that is cut short began with other ones."""
        return sorted(things, key=lambda thing: self.turns.get(name(thing), 0))

    def took_turn(self, name: Hashable) -> None:
        """Note that it is this one's turn now."""
        self.turn += 1
        self.turns[name] = self.turn

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
