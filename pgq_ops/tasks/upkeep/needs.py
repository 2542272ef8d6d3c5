"""Which leaves need a VACUUM of ours now: decided from what was seen, without a statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.stats import vacuum_reach
from pgq_ops.tasks.upkeep.need import Need, Why
from pgq_ops.tasks.upkeep.order import Order
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from pgq_ops.stats.vacuum_settings import ServerAutovacuum
    from pgq_ops.tasks.upkeep.leaf_track import LeafTrack

# Autovacuum begins at its threshold; ours begins at half of what is bearable, since rows go on dying meanwhile.
BEGIN_SHARE = 0.5
# Fewer dead rows are no vacuum's worth.
LEAST_ROWS = 500
# Autovacuum visits a database each naptime, if a worker is free: one visit may be missed by chance. It starts within
# seconds of being due where the naptime is short.
_VISITS, _SHORTEST_SECONDS = 1.5, 10.0


def of_leaf(track: LeafTrack, budget_rows: int, server: ServerAutovacuum, now: float) -> Need | None:
    """The most urgent need of a leaf at that moment (monotonic seconds); None where there is none."""
    leaf = track.leaf
    if server.standby or track.is_being_vacuumed(now):
        return None
    if leaf.lost and track.lost_done:
        return None
    if leaf.lost:
        written = " since, and it is being written to" if any(track.seen.written) else ""
        order = Order(leaf.relation, analyze=True)
        return Need(Why.LOST, order, f"its statistics were lost, so autovacuum counts from zero{written}")
    if leaf.dead_rows is None:
        return None
    dead = int(track.dead_rows(now))
    if dead < max(LEAST_ROWS, begin_rows(budget_rows)):
        return None
    why, reason = _why(track, dead, budget_rows, server, now)
    return None if why is None else Need(why, Order(leaf.relation), reason, dead)


def begin_rows(budget_rows: int) -> int:
    """From how many dead rows on a VACUUM is worth it where autovacuum cannot come in time."""
    return max(LEAST_ROWS, int(budget_rows * BEGIN_SHARE))


def _why(track: LeafTrack, dead: int, budget_rows: int, server: ServerAutovacuum, now: float) -> tuple[Why | None, str]:
    leaf, nap = track.leaf, format_duration(server.naptime_seconds)
    reach = vacuum_reach.of(leaf, track.dying, budget_rows, server)
    patience = max(_VISITS * server.naptime_seconds, _SHORTEST_SECONDS)
    if not reach.in_reach:
        interval = format_duration(round(reach.interval_seconds, 1))
        return Why.FAST, (
            f"{track.dying:,.0f} rows die there each second, so {budget_rows:,} dead rows, which a claim can bear, in"
            f" {interval}; autovacuum comes each {nap} (autovacuum_naptime)"
        )
    if dead < budget_rows:
        return None, ""
    if leaf.vacuum_threshold > budget_rows:
        return Why.UNSET, (
            f"{dead:,} dead rows, and autovacuum waits for {leaf.vacuum_threshold:,.0f}, where a claim can bear"
            f" {budget_rows:,}"
        )
    if not leaf.autovacuum_enabled:
        return Why.OVERDUE, f"{dead:,} dead rows, and autovacuum is off for it"
    if track.due_since is not None and now - track.due_since >= patience:
        overdue = format_duration(round(now - track.due_since))
        return Why.OVERDUE, (f"{dead:,} dead rows, and autovacuum has been due for {overdue} and has not come")
    return None, ""
