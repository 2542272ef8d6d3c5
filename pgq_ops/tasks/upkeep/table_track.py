"""What upkeep remembers of one job table, and what that says is needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.stats import storage_parameters, vacuum_reach
from pgq_ops.tasks.autovacuum.budget import budget_of, part_of
from pgq_ops.tasks.upkeep import frozen, held, needs
from pgq_ops.tasks.upkeep import pulse as pulses
from pgq_ops.tasks.upkeep.leaf_track import LeafTrack
from pgq_ops.tasks.upkeep.need import Why
from pgq_ops.tasks.upkeep.parents import Parents

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.config.maintenance import Autovacuum
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.dead_row_budget import Budget
    from pgq_ops.stats.observed import Observed
    from pgq_ops.stats.vacuum_reach import Reach
    from pgq_ops.tasks.upkeep.held import Held
    from pgq_ops.tasks.upkeep.need import Need

# What the claims tell changes slowly, and it takes a while to reckon.
_BUDGET_SECONDS = 60.0
# How often the catalog is asked for what no look tells: partitions that are closed, and partitioned tables.
CATALOG_SECONDS = 600.0
# How soon a look may come again: no counter moves faster.
_SOONEST_SECONDS = 0.25
# The counters of a leaf that is written to are asked for so often, those of the others now and then; of some only.
_BUSY_SECONDS, _MOST_LEAVES = 2.0, 50
# The look at a table's health, which comes each 15 s, tells that a quiet one is no longer. A few tables can be asked
# more often than that, a hundred of them would take the agent a part of a core.
_QUIET_SECONDS, SELDOM_SECONDS, _FEW_TABLES = 5.0, 15.0, 10
_BUSY_FOR_SECONDS = 60.0
_FOR_DEAD_ROWS = frozenset({Why.FAST, Why.OVERDUE, Why.UNSET})


@dataclass(slots=True)
class TableTrack:
    """Moments are monotonic seconds. `beside`: what the catalog says is needed, as of the last look at it.

    `not_before`: no closed leaf is frozen earlier. `refused`: why the role may not, until when it is told.
    """

    leaves: dict[int, LeafTrack] = field(default_factory=dict)
    parents: Parents = field(default_factory=Parents)
    beside: tuple[Need, ...] = ()
    asked_at: float | None = None
    not_before: float = 0.0
    refused: str = ""
    refused_until: float = 0.0
    _observed: Observed | None = None
    _budget: tuple[Budget, Autovacuum, float] | None = None

    def look(self, observed: Observed, now: float) -> None:
        """Take in what was seen; the same look twice says nothing new."""
        health = observed.health
        if self._observed is None or health.at != self._observed.health.at:
            before = self.leaves
            self.leaves = {}
            for leaf in health.leaves:
                track = before.get(leaf.oid)
                if track is None:
                    track = LeafTrack(leaf, pulses.of(leaf, health.at), now)
                else:
                    track.look(leaf, health.at, now)
                self.leaves[leaf.oid] = track
        if observed is not self._observed:
            for track in self.leaves.values():
                track.look_at_keeper(observed.horizon, now)
        self._observed = observed

    def is_catalog_due(self, table: JobTable, now: float) -> bool:
        """Whether the catalog is to be asked for what no look tells."""
        return table.partitioned and (self.asked_at is None or now - self.asked_at >= CATALOG_SECONDS)

    def ask_catalog(self, connection: Connection, table: JobTable, observed: Observed, now: float) -> None:
        """Ask for closed partitions that are not frozen, and partitioned tables without statistics of their own.

        Raises the driver's errors.
        """
        self.asked_at = now
        if table.partitioned:
            leaves = storage_parameters.read(connection, table)
            self.beside = (
                *self.parents.needs(connection, table, observed.health),
                *frozen.needs(connection, leaves, self.leaves, observed.horizon, now),
            )

    def pulse_due_at(self, now: float, tables: int) -> float:
        """From when on the counters are to be asked for; `tables`: how many are looked at in all."""
        every = min(SELDOM_SECONDS, _QUIET_SECONDS * max(1.0, tables / _FEW_TABLES))
        if any(self._is_busy(track, now) for track in self.leaves.values()):
            every = _BUSY_SECONDS
        return max((track.seen_at for track in self.leaves.values()), default=now) + every

    def feel(self, connection: Connection, now: float) -> None:
        """Ask for the counters of those that are written to, the busiest first. Raises the driver's errors."""
        busiest = sorted(self.leaves.items(), key=lambda item: (-(item[1].written_at or 0.0), -item[1].dying))
        for oid, pulse in pulses.read(connection, [oid for oid, _ in busiest[:_MOST_LEAVES]]):
            track = self.leaves[oid]
            known = track.leaf.dead_rows is not None
            track.feel(pulse if known else pulse._replace(dead=None), now)

    def _is_busy(self, track: LeafTrack, now: float) -> bool:
        return track.written_at is not None and now - track.written_at < _BUSY_FOR_SECONDS

    def budgets(self, terms: Autovacuum, observed: Observed, now: float) -> Mapping[int, int]:
        """How many dead rows each leaf may have, by oid: its part of what claims can bear, as its plan has it.

        One in which nothing dies may have as many as all together: what is left there is in the way of no claim.
        """
        if self._budget is None or self._budget[1] != terms or now - self._budget[2] >= _BUDGET_SECONDS:
            self._budget = budget_of(terms, observed), terms, now
        whole = self._budget[0]
        busy = {oid for oid, churn in observed.churn.items() if churn.dying > 0}
        return {oid: part_of(whole, observed, oid).rows if oid in busy else whole.rows for oid in self.leaves}

    def needs(self, budgets: Mapping[int, int], observed: Observed, now: float) -> list[Need]:
        """All that is needed, the most urgent first."""
        server = observed.health.server
        found = [needs.of_leaf(track, budgets[oid], server, now) for oid, track in self.leaves.items()]
        there = [need for need in (*found, *self.beside) if need is not None]
        return sorted(there, key=lambda need: (need.why, -need.dead_rows))

    def outpaced(self, budgets: Mapping[int, int], observed: Observed) -> tuple[Reach, ...]:
        """The leaves where rows have died for some minutes faster than autovacuum can come, the worst first."""
        server = observed.health.server
        reaches = (
            vacuum_reach.of(track.leaf, track.dying_for_long, budgets[oid], server)
            for oid, track in self.leaves.items()
        )
        return tuple(sorted((one for one in reaches if not one.in_reach), key=lambda one: one.interval_seconds))

    def may_begin(self, need: Need, now: float) -> bool:
        """Whether the last VACUUM of the leaf is long enough ago; of closed ones, that of any of them."""
        if need.why is Why.CLOSED and now < self.not_before:
            return False
        track = self.leaves.get(need.order.relation.oid)
        return track is None or now >= track.not_before

    def held(self, need: Need, observed: Observed, now: float) -> Held | None:
        """Who keeps the dead rows that it is for, where too few would go; else None."""
        track = self.leaves.get(need.order.relation.oid)
        if track is None or need.why not in _FOR_DEAD_ROWS:
            return None
        found = held.of_leaf(track, observed.horizon, now)
        return None if held.is_worth_it(found, need.dead_rows, needs.LEAST_ROWS) else found

    def again_seconds(self, budgets: Mapping[int, int], observed: Observed, now: float) -> float | None:
        """When the next leaf will need a VACUUM, where that is foreseen to be soon; else None.

        One that needs it by now, and has to wait for something else, is not among them.
        """
        server = observed.health.server
        soon = [
            max(track.seconds_until(needs.begin_rows(budgets[oid]), now), track.not_before - now)
            for oid, track in self.leaves.items()
            if not vacuum_reach.of(track.leaf, track.dying, budgets[oid], server).in_reach
        ]
        return min((max(_SOONEST_SECONDS, seconds) for seconds in soon if 0 < seconds < _BUSY_SECONDS), default=None)
