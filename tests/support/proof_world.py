"""The world of the proof: jobs, workers, agents and time, and an append-only record of what was acknowledged.

Each thing that can happen is a method that does it on the server, says what must come of it, and notes it in the model.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from psycopg.types.json import Jsonb

from tests.support import proof_ground as ground_
from tests.support.proof_agent import ProofAgent
from tests.support.proof_clock import moment
from tests.support.proof_model import Model
from tests.support.proof_worker import APPLIED, BLOCKED, NOTHING, Worker, changed, claimed

if TYPE_CHECKING:
    from tests.support.proof_stage import Row, Stage
    from tests.support.proof_watch import Watch

WORKERS, AGENTS, MOST_COLUMNS = 3, 2, 2


class World:
    """One run on a stage. `watch` is there while a pass of the reaper goes on.

    The record: ids that were enqueued, and how often each claim (job, version) was completed.
    """

    def __init__(self, stage: Stage) -> None:
        stage.begin()
        self.stage, self.ground, self.clock = stage, stage.ground, stage.clock
        self.model = Model(stage.ground, stage.clock)
        self.workers = [Worker(f"worker-{number}", stage, stage.session()) for number in range(WORKERS)]
        self.agents = [ProofAgent(stage, number) for number in range(AGENTS)]
        self.watch: Watch | None = None
        self.misfit_until = float("-inf")
        self.enqueued: list[int] = []
        self.completed: Counter[tuple[int, int]] = Counter()

    def close(self) -> None:
        """End every session and wait until it is gone, or its locks would reach into the next run."""
        for agent in self.agents:
            agent.end()
        for worker in self.workers:
            self.stage.terminate(worker.connection)
            worker.connection.close()

    def saw(self, what: str) -> None:
        self.stage.seen[what] += 1

    def enqueue(self, delay_seconds: float, attempts: int) -> None:
        number = len(self.enqueued)
        available = moment(self.model.at_the_latest(self.clock.seconds + delay_seconds))
        values: Row = {"payload": Jsonb({"n": number}), self.ground.available: available, "attempts": attempts}
        values |= {name: f"{name} of {number}" for name in self.model.job_columns}
        row = self.stage.insert(values)
        self.model.jobs[row["id"]] = row
        self.enqueued.append(row["id"])

    def claim(self, worker: Worker, *, leave_open: bool) -> None:
        due = self.model.due()
        got = worker.take(leave_open=leave_open)
        assert (got is None) == (not due), f"the claim found {got}, and due are {due}"
        if got is None:
            return
        assert got[0] in due, f"job {got[0]} was claimed and is not due"
        worker.claim = got
        image = claimed(self.model, worker, got[0])
        self._changed(worker, "claim", image, leave_open=leave_open)

    def change(self, worker: Worker, what: str, *, leave_open: bool = False) -> None:
        """A heartbeat, completion or failure, on time or late: fenced by its version, or not, as the article has it."""
        assert worker.claim is not None
        job, version = worker.claim
        row = self.model.jobs.get(job)
        fits = (
            row is not None
            and row["status"] == "running"
            and (not self.ground.fenced or row["claim_version"] == version)
        )
        expected = {NOTHING if not fits else BLOCKED if job in self.model.held else APPLIED}
        if fits and self.watch is not None and job in self.watch.may:
            expected.add(BLOCKED)  # the batch at hand may have it
        came = worker.change(what, self.model, leave_open=leave_open)
        assert came in expected, f"{what} of {worker.claim}: {came}, not {expected}"
        if came == APPLIED:
            assert row is not None
            ends_at = self.model.ends_at(row)
            self.saw(f"late {what}" if ends_at is not None and ends_at <= self.clock.seconds else what)
            self._changed(worker, what, changed(self.model, worker, what, row), leave_open=leave_open)
        elif came == NOTHING:
            self.saw("late return refused")
            worker.claim = None

    def end_transaction(self, worker: Worker, *, commit: bool) -> None:
        job, what = worker.open, worker.opened_by
        assert job is not None
        worker.end(commit=commit)
        image = self.model.held.pop(job)
        self.saw("commit" if commit else "rollback")
        if commit:
            self._committed(worker, what, job, image)
        elif what == "claim":
            worker.claim = None

    def worker_dies(self, worker: Worker) -> None:
        if worker.open is not None:
            del self.model.held[worker.open]
        worker.die()
        self.saw("worker died")

    def may_add_column(self) -> bool:
        """Whether a further column is of use: the last of the job table's may still be missing elsewhere."""
        return len(self.model.job_columns) < MOST_COLUMNS or self.model.misfit()

    def add_column(self, *, to_dead: bool, default: str | None) -> None:
        """A migration of the job table or of the dead-letter table; the other one may follow, or be there before."""
        columns = self.model.dead_columns if to_dead else self.model.job_columns
        if len(columns) == MOST_COLUMNS or (to_dead and not self.ground.dead_table):
            return
        name = f"extra_{len(columns) + 1}"
        table = self.ground.dead_table if to_dead else self.ground.table
        contested = bool(self.model.held) or self.watch is not None
        if not self.stage.add_column(table, name, default, contested=contested):
            return
        assert to_dead or not self.model.held
        if self.model.misfit():
            self.misfit_until = self.clock.seconds
        columns[name] = default
        for row in (self.model.dead if to_dead else self.model.jobs).values():
            row.setdefault(name, default)
        self.saw("column added")

    def columns(self) -> int:
        """How many columns were added so far."""
        return len(self.model.job_columns) + len(self.model.dead_columns)

    def excused(self, seconds: float = 0) -> bool:
        """Whether the reaper may refuse to work: a column that a dead job would lose, now or so long ago."""
        if self.model.misfit():
            self.misfit_until = self.clock.seconds
        return self.clock.seconds <= self.misfit_until + seconds

    def _changed(self, worker: Worker, what: str, image: Row, *, leave_open: bool) -> None:
        assert worker.claim is not None
        job = worker.claim[0]
        if leave_open:
            self.model.held[job] = image
            worker.open, worker.opened_by = job, what
        else:
            self._committed(worker, what, job, image)

    def _committed(self, worker: Worker, what: str, job: int, image: Row) -> None:
        self.model.jobs[job] = image
        if what == "complete":
            assert worker.claim is not None
            self.completed[worker.claim] += 1
        if what in ("complete", "fail"):
            worker.claim = None


def check(world: World) -> None:
    """What must hold after each step, by the model and, apart from it, by the record alone."""
    snapshot = world.stage.snapshot()
    assert (snapshot.jobs, snapshot.dead) == (world.model.jobs, world.model.dead)
    assert sorted(snapshot.prints) == sorted(world.enqueued), "a job is lost, or nobody enqueued it"
    assert max(world.completed.values(), default=0) <= 1, "completed twice under one version"
    done = {job for job, row in snapshot.jobs.items() if row["status"] == "done"}
    assert {job for job, _ in world.completed} == done, "what was completed is done, and nothing else"
    assert len(world.completed) == len(done), "completed twice"
    attempts = [row["attempts"] for rows in (snapshot.jobs, snapshot.dead) for row in rows.values()]
    assert max(attempts, default=0) <= ground_.CAP, "more attempts than the cap"
    assert world.stage.leaders() <= 1, "two lead"
