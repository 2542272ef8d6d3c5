"""Closed partitions that are to be frozen once, while they are likely to be in memory still."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.tasks.upkeep.need import Need, Why
from pgq_ops.tasks.upkeep.order import Order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.stats.horizon import Horizon
    from pgq_ops.stats.storage_parameters import LeafStorage
    from pgq_ops.tasks.upkeep.leaf_track import LeafTrack

# A younger table was frozen a short while ago, or is so new that nothing is gained: a forced autovacuum is hours away.
YOUNG_XIDS = 1_000_000
# The catalog's numbers are those of the last vacuum: a page may have been added since.
_NEARLY_ALL = 0.99
# Whoever holds the horizon for longer keeps rows from being frozen; it is done once he has let go.
_BRIEF_SECONDS = 60.0
# Jobs that still run in a partition to which no row comes any more change their rows now and then.
QUIET_SECONDS = 300.0


def needs(
    connection: Connection,
    leaves: Sequence[LeafStorage],
    tracks: Mapping[int, LeafTrack],
    horizon: Horizon | None,
    now: float,
) -> Iterator[Need]:
    """Of the leaves that are closed, those at rest which are not frozen yet; none while the horizon is held for long.

    `tracks`: by oid; `now`: monotonic seconds. Raises the driver's errors.
    """
    if horizon is not None and any(one.seconds is None or one.seconds > _BRIEF_SECONDS for one in horizon.holders):
        return
    closed = {one.relation.oid: one.relation for one in leaves if one.closed is True}
    resting = [oid for oid in closed if oid in tracks and _is_at_rest(tracks[oid], now)]
    if not resting:
        return
    for oid, age, pages, frozen in connection.execute(sql.statement("vacuum/freezing"), {"oids": resting}).fetchall():
        if pages > 0 and age >= YOUNG_XIDS and (frozen is None or frozen < _NEARLY_ALL * pages):
            reason = f"no row comes to it any more, and it has not been frozen for {age:,} transactions"
            yield Need(Why.CLOSED, Order(closed[oid], freeze=True), reason)


def _is_at_rest(track: LeafTrack, now: float) -> bool:
    """Whether nothing has been written there for a while, and it was not frozen as it is now."""
    if track.leaf.lost or track.leaf.vacuum_running or now - track.quiet_since < QUIET_SECONDS:
        return False
    return track.frozen != track.seen.written
