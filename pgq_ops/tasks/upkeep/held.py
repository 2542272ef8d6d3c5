"""How many of a leaf's dead rows a VACUUM could remove now, and who keeps the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.stats.horizon import Holder, Horizon
    from pgq_ops.tasks.upkeep.leaf_track import LeafTrack

# It reads every dead row, also those that it must leave.
WORTH_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Held:
    """`removable`: at most so many rows. `holder`: who held the horizon back the most at the last look."""

    removable: float
    holder: Holder | None = None

    @property
    def key(self) -> str:
        """What tells one holder from another."""
        one = self.holder
        return "somebody" if one is None else f"{one.kind}/{one.pid}/{one.name}/{one.started}"

    def __str__(self) -> str:
        return f"{'somebody' if self.holder is None else named(self.holder)} keeps dead rows"


def of_leaf(track: LeafTrack, horizon: Horizon | None, now: float) -> Held:
    """By the last look at the horizon, and by what our last VACUUM had to leave."""
    dead = track.dead_rows(now)
    if track.kept is not None:
        return Held(0.0, track.kept.holder)  # what has died since is kept for the same one
    holder = horizon.holders[0] if horizon is not None and horizon.holders else None
    if holder is None or holder.seconds is None:
        return Held(dead, holder)
    return Held(max(0.0, dead - track.dying * holder.seconds), holder)


def is_worth_it(held: Held, dead: float, least: float) -> bool:
    """Whether enough of the dead rows would go."""
    return held.removable >= max(least, WORTH_SHARE * dead)


def is_same(one: Holder, other: Holder) -> bool:
    """Whether it is the same transaction, or slot."""
    return (one.kind, one.pid, one.name, one.started) == (other.kind, other.pid, other.name, other.started)


def named(holder: Holder) -> str:
    """Such as `session 4242 (report-job, user bi)`."""
    what = {
        "backend": f"session {holder.pid}",
        "prepared": "a prepared transaction",
        "slot": "a replication slot",
        "standby": "a standby",
    }.get(holder.kind, holder.kind)
    words = [holder.name, f"user {holder.user}" if holder.user else ""]
    known = ", ".join(word for word in words if word)
    return f"{what} ({known})" if known else what
