"""Keeps up where settings cannot: runs VACUUM and ANALYZE itself, or says when it would.

    task = Upkeep(observations, terms, watch, database)
    task.rest(table)                       # looks at what was seen; a result where nothing is to be run
    task.run(connection, table, guard)     # runs the one statement that is needed most

One statement at a time, of all job tables of the database: they share the thread, and the session.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pgq_ops.db.answers import AnsweringConnection
from pgq_ops.errors import ActionFailed, NotPermitted
from pgq_ops.tasks.upkeep.ending import VacuumFate
from pgq_ops.tasks.upkeep.need import Why
from pgq_ops.tasks.upkeep.result import UpkeepResult
from pgq_ops.tasks.upkeep.run import Terms, run
from pgq_ops.tasks.upkeep.table_track import SELDOM_SECONDS, TableTrack
from pgq_ops.tasks.upkeep.telling import Telling
from pgq_ops.tasks.upkeep.workers import why_late

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pgq_ops.config.maintenance import Autovacuum
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.observed import Observations, Observed
    from pgq_ops.tasks.task import Guard
    from pgq_ops.tasks.upkeep.ending import VacuumEnd
    from pgq_ops.tasks.upkeep.need import Need
    from pgq_ops.tasks.upkeep.yielding import Watch

EVERY_SECONDS = SELDOM_SECONDS
"""How often it looks; sooner where it says so."""
# Nothing has been seen of the table yet; it will be within a round of the collection.
_SOON_SECONDS = 2.0
_SLACK_SECONDS = 0.1
# Where the role may not: the GRANT may have been run meanwhile.
_REFUSED_SECONDS = 60.0


@dataclass(slots=True)
class Upkeep:
    """The task. `terms`: the section `autovacuum` of a job table by name, None where there is none.

    `database`: the name of the one that is led in. `owner_role`: whom to be where the role itself may not. `clock()` is
    monotonic seconds.
    """

    observations: Observations
    terms: Callable[[str], Autovacuum | None]
    watch: Watch
    database: Callable[[], str]
    owner_role: Callable[[], str | None] = lambda: None
    clock: Callable[[], float] = time.monotonic
    _tables: dict[str, TableTrack] = field(default_factory=dict)
    _telling: dict[tuple[str, str], Telling] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its own: the section that asks for it asks for another task too."""
        return "upkeep"

    def rest(self, table: JobTable) -> UpkeepResult | None:
        """What is needed, where nothing is to be run now; None where something is, or the database is to be asked."""
        observed, terms = self.observations.of(table.name), self.terms(table.name)
        if observed is None or terms is None:
            return UpkeepResult(again_seconds=_SOON_SECONDS)
        now, track = self.clock(), self._look(table, observed)
        acts = terms.vacuum == "when-needed"
        if track.is_catalog_due(table, now) or (acts and now >= track.pulse_due_at(now, len(self._tables))):
            return None
        found = track.needs(track.budgets(terms, observed, now), observed, now)
        if acts and self._next(track, found, observed, now) is not None:
            return None
        return self._waiting(table, track, found, observed, terms)

    def plan(self, connection: Connection, table: JobTable) -> UpkeepResult:
        """What is needed now; reads only."""
        observed, terms = self.observations.of(table.name), self.terms(table.name)
        if observed is None or terms is None:
            return UpkeepResult(dry_run=True)
        track = self._look(table, observed)
        now = self.clock()
        track.ask_catalog(connection, table, observed, now)
        found = track.needs(track.budgets(terms, observed, now), observed, now)
        return UpkeepResult(needs=tuple(found), acts=terms.vacuum == "when-needed", dry_run=True)

    def run(self, connection: Connection, table: JobTable, guard: Guard) -> UpkeepResult:
        """Run the statement that is needed most, if any is and may be.

        Raises NotPermitted with the GRANT, ActionFailed where the server would not, the driver's errors.
        """
        observed, terms = self.observations.of(table.name), self.terms(table.name)
        if observed is None or terms is None:
            return UpkeepResult()
        track = self._look(table, observed)
        if track.is_catalog_due(table, self.clock()):
            track.ask_catalog(connection, table, observed, self.clock())
        if terms.vacuum == "when-needed":
            track.feel(connection, self.clock())
        now = self.clock()
        found = track.needs(track.budgets(terms, observed, now), observed, now)
        need = self._next(track, found, observed, now) if terms.vacuum == "when-needed" else None
        if need is None or not guard():
            return self._waiting(table, track, found, observed, terms)
        if not isinstance(connection, AnsweringConnection):
            raise TypeError("only a connection that can be watched while it waits")
        end = self._carry_out(connection, table, track, need, observed)
        now = self.clock()
        budgets = track.budgets(terms, observed, now)
        return UpkeepResult(
            end,
            tuple(one for one in found if one is not need),
            outpaced=track.outpaced(budgets, observed),
            again_seconds=self._again(track, budgets, observed),
        )

    def _waiting(
        self, table: JobTable, track: TableTrack, found: list[Need], observed: Observed, terms: Autovacuum
    ) -> UpkeepResult:
        """The result where nothing is run."""
        now = self.clock()
        budgets = track.budgets(terms, observed, now)
        outpaced = track.outpaced(budgets, observed)
        if terms.vacuum != "when-needed":
            return UpkeepResult(needs=tuple(found), acts=False, outpaced=outpaced)
        return UpkeepResult(
            needs=tuple(found),
            outpaced=outpaced,
            held=self._held(table, track, found, observed),
            refused=track.refused if now < track.refused_until else "",
            again_seconds=self._again(track, budgets, observed),
        )

    def _again(self, track: TableTrack, budgets: Mapping[int, int], observed: Observed) -> float:
        now = self.clock()
        foreseen = track.again_seconds(budgets, observed, now)
        # A little later than it is due: at that moment it is not to be put off once more.
        pulse = track.pulse_due_at(now, len(self._tables)) - now + _SLACK_SECONDS
        return max(_SLACK_SECONDS, pulse) if foreseen is None else min(foreseen, max(_SLACK_SECONDS, pulse))

    def _carry_out(
        self, connection: AnsweringConnection, table: JobTable, track: TableTrack, need: Need, observed: Observed
    ) -> VacuumEnd:
        oid = need.order.relation.oid
        if need.why is Why.OVERDUE and track.leaves[oid].leaf.autovacuum_enabled:
            need = replace(need, reason=f"{need.reason}: {why_late(connection)}")
        leaf = track.leaves.get(oid)
        terms = Terms(self.owner_role(), counts=observed.health.server.counts)
        if leaf is not None:
            terms = replace(terms, seconds=leaf.seconds, dying=leaf.dying)
        end = run(connection, table, need.order, terms, self.watch)
        self._tell(table).ran(need, end)
        if leaf is not None:
            leaf.ended(end, observed.horizon, self.clock())
        if end.fate in (VacuumFate.OK, VacuumFate.USELESS):
            track.refused = ""
            self._done(track, need, observed)
        elif need in track.beside:
            track.beside = tuple(one for one in track.beside if one is not need)
        if end.fate is VacuumFate.NOT_PERMITTED:
            refusal = NotPermitted(f"{end.order}: {end.reason}", end.grant)
            track.refused, track.refused_until = str(refusal), self.clock() + _REFUSED_SECONDS
            raise refusal
        if end.fate is VacuumFate.FAILED:
            raise ActionFailed(str(end))
        return end

    def _done(self, track: TableTrack, need: Need, observed: Observed) -> None:
        """Remember what is not to be done again."""
        oid = need.order.relation.oid
        track.beside = tuple(one for one in track.beside if one is not need)
        if need.why is Why.STATISTICS:
            track.parents.analyzed(oid, observed.health)
        elif need.why is Why.CLOSED and oid in track.leaves:
            track.leaves[oid].frozen = track.leaves[oid].seen.written
            track.not_before = track.leaves[oid].not_before
        elif need.why is Why.LOST and oid in track.leaves:
            track.leaves[oid].lost_done = True

    def _look(self, table: JobTable, observed: Observed) -> TableTrack:
        track = self._tables.setdefault(table.name, TableTrack())
        track.look(observed, self.clock())
        return track

    def _next(self, track: TableTrack, found: list[Need], observed: Observed, now: float) -> Need | None:
        """The most urgent one that may begin now and would not be in vain."""
        ready = (need for need in found if track.may_begin(need, now) and track.held(need, observed, now) is None)
        return next(ready, None)

    def _held(self, table: JobTable, track: TableTrack, found: list[Need], observed: Observed) -> str:
        """Who keeps the dead rows of the first one that waits for that; empty where none does."""
        now = self.clock()
        for need in found:
            held = track.held(need, observed, now)
            if held is not None:
                self._tell(table).held(need, held)
                return f"{held} of {need.order.relation}"
        self._tell(table).let_go()
        return ""

    def _tell(self, table: JobTable) -> Telling:
        key = self.database(), table.name
        if key not in self._telling:
            self._telling[key] = Telling(*key, self.clock)
        return self._telling[key]
