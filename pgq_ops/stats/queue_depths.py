"""How many jobs there are by queue and state, and how old the oldest of them are.

A small table is read whole. Of any other each state is looked at through an index, at most 10,001 rows;
beyond that, without an index, or when a look is cut off by the session's timeout, numbers are estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops.job_table.dead_place import dead_places
from pgq_ops.job_table.quoting import all_of
from pgq_ops.stats import bounded, estimates, job_sample, state_looks, unknown_values
from pgq_ops.stats.depth import Age, Depths
from pgq_ops.stats.depth_tally import Tally
from pgq_ops.stats.extrapolation import Sample
from pgq_ops.stats.index_support import STATES, Question
from pgq_ops.stats.pending_look import PendingLook
from pgq_ops.stats.remembered import Remembered

if TYPE_CHECKING:
    from psycopg import sql as composing

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.dead_place import DeadPlace
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.index_support import IndexSupport
    from pgq_ops.stats.relation_rows import RelationRows
    from pgq_ops.stats.state_looks import StateLooks

# A job may become visible this long after its available_at, when its transaction took so long. The watermark
# stays so far behind, and a look that is not cut off finds later ones too.
_LATE_COMMITS_SECONDS = 60.0


def read(
    connection: Connection, table: JobTable, support: IndexSupport, remembered: Remembered | None = None
) -> Depths:
    """Look at the jobs. A statement that the session's timeout ends is replaced by an estimate.

    Raises the driver's other errors, such as for a lock that cannot be had.
    """
    depths = _Reading(connection, table, support, remembered or Remembered()).read()
    unknown = depths.total("unknown")
    if unknown is None or not unknown.value:
        return depths
    return replace(depths, unknown_values=unknown_values.read(connection, table))


@dataclass(slots=True)
class _Reading:
    connection: Connection
    table: JobTable
    support: IndexSupport
    remembered: Remembered
    tally: Tally = field(default_factory=Tally)
    at: float = 0.0
    watermark: float | None = None
    timed_out: bool = False
    states_cut_off: bool = False
    crowded: set[str] = field(default_factory=set)

    def read(self) -> Depths:
        if not (self.support.small and self._whole()):
            self._each_state()
        for place in dead_places(self.table):
            if place.is_dead_letter_table:
                self._dead_letters(place)
        known = [policy.queue for policy in self.table.policies if policy.queue is not None]
        if "queue" not in self.table.fields:
            known.append("default")
        queues = self.tally.queues([*known, *self.remembered.queues])
        return Depths(
            queues,
            self.at,
            self.tally.all_queues,
            self.watermark,
            self.timed_out,
            self.states_cut_off,
            crowded=frozenset(self.crowded),
        )

    def _whole(self) -> bool:
        """Read every row; False where that takes too long after all."""
        try:
            look = self.support.whole or job_sample.all_jobs(self.table)
            found, self.at = bounded.read(
                self.connection, self.table, look, {"limit": None}, through_indexes=False, again=True
            )
        except errors.QueryCanceled:
            return False
        sample = Sample(job_sample.parsed(found), complete=True)
        states = [state for state in job_sample.STATES if state in self.table.states and state != "pending"]
        self.tally.enter(sample, ["scheduled", "ready", *states, "unknown"], lambda: 0)
        self.tally.enter_ages_of_ready(sample, now=0.0)
        if "dead" in states:
            self.tally.enter_ages_of_dead(sample)
        return True

    def _each_state(self) -> None:
        crowded = self.remembered.crowded
        pending = PendingLook(self.connection, self.table, self.support, "pending" in crowded)
        plain = None if self.remembered.from_watermark else pending.plain
        one_by_one = self.remembered.one_by_one
        looks = state_looks.read(
            self.connection, self.table, self.support, plain, one_by_one=one_by_one, crowded=crowded
        )
        self.at, self.states_cut_off = looks.at, bool(looks.cut_off - {"pending"})
        if "pending" in self.table.states:
            self._pending(pending, looks)
        for question in STATES:
            if question.value in self.table.states:
                self._state(question, looks)
        if "done" in self.table.states:
            # No index would make counting them cheap: they are what is left of the table's rows.
            self.tally.guess("done", max(0, looks.relations.jobs - self.tally.rows()))

    def _pending(self, look: PendingLook, looks: StateLooks) -> None:
        if look.plain is None:
            self._guess_pending(look, looks.relations)
            return
        seen = None
        if "pending" in looks.rows:
            seen = look.completed(looks.rows["pending"], looks.at)
        elif not self.remembered.from_watermark and "pending" not in looks.cut_off:
            seen = look.read()
        if seen is None:
            self.timed_out = True
            watermark = self.remembered.watermark
            if watermark is None and look.ordered:
                watermark = self._recently()
            seen = None if watermark is None else look.read(watermark)
        if seen is None:
            self._guess_pending(look, looks.relations)
            return
        sample, now = seen
        self.tally.enter(
            sample, ["scheduled", "ready"], lambda: self._estimated("pending", look.question, looks.relations) or 0
        )
        self.tally.enter_ages_of_ready(sample, now)
        if sample.truncated and all(row.state == "ready" for row in sample.rows):
            self.crowded.add("pending")
        if look.ordered:
            first = sample.first_moment()
            self.watermark = min(now - _LATE_COMMITS_SECONDS, now if first is None else first)

    def _state(self, question: Question, looks: StateLooks) -> None:
        """Running, dead, blocked or cancelled jobs."""
        state = question.value
        if state not in looks.rows:
            self._guess(state, self._estimated(state, question, looks.relations))
            return
        brief = state in self.remembered.crowded
        sample = Sample(looks.rows[state], cap=self.support.serving[question].cap(brief=brief))
        if sample.truncated:
            self.crowded.add(state)
        self.tally.enter(sample, [state], lambda: self._estimated(state, question, looks.relations) or 0)
        if state == "dead":
            self.tally.enter_ages_of_dead(sample)

    def _dead_letters(self, place: DeadPlace) -> None:
        def estimated() -> int:
            return estimates.table_rows(self.connection, place.relation.oid)

        try:
            look = job_sample.dead_letters(place)
            found = self.connection.execute(look, {"limit": job_sample.CAP + 1}).fetchall()
        except errors.QueryCanceled:
            before = self.tally.all_queues.get("dead")
            self.tally.guess("dead", estimated() + (before.value if before else 0))
        else:
            self.tally.add_dead_letters(Sample(job_sample.parsed(found)), estimated)

    def _guess(self, state: str, jobs: int | None) -> None:
        if jobs is not None:
            self.tally.guess(state, jobs)

    def _estimated(self, state: str, question: Question, relations: RelationRows) -> int | None:
        """The jobs in a state by an index's size or the planner; None where even planning takes too long."""
        serving = self.support.serving.get(question)
        if serving is not None and serving.whole:
            return relations.of(serving.oids)
        return self._planned(self.table.is_state(state))

    def _planned(self, condition: composing.Composable) -> int | None:
        try:
            return estimates.planned_rows(self.connection, self.table, condition)
        except errors.QueryCanceled:
            return None

    def _guess_pending(self, look: PendingLook, relations: RelationRows) -> None:
        pending = self._estimated("pending", look.question, relations)
        due = self._planned(all_of([self.table.is_state("pending"), self.table.is_due()]))
        if pending is not None and due is not None:
            self.tally.guess("ready", min(pending, due))
            self.tally.guess("scheduled", pending - min(pending, due))
        if self.timed_out and self.remembered.watermark is not None:
            self.watermark = self.remembered.watermark
            age = max(0.0, self._now() - self.watermark)
            self.tally.oldest_ready_elsewhere = Age(age, exact=False)

    def _recently(self) -> float:
        """Where to begin without a watermark: late enough to be fast, early enough to see the promise broken."""
        promised = max(policy.slo.oldest_ready.total_seconds() for policy in self.table.policies)
        return self._now() - 2 * promised

    def _now(self) -> float:
        with bounded.transaction(self.connection, self.table) as now:
            return now
