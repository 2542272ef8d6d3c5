"""Passes of the reaper, and retries, in the world of the proof: whole ones, or with others acting in the middle."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops.errors import TableChanged
from pgq_ops.tasks.dead_retry import DeadRetry
from pgq_ops.tasks.dead_retry_result import RetryResult
from pgq_ops.tasks.reap import Reap
from pgq_ops.tasks.reap_result import ReapResult
from pgq_ops.tasks.task import Outcome
from tests.support import proof_ground as ground_
from tests.support.proof_agent import NAME, Interruption
from tests.support.proof_command import run_by_hand
from tests.support.proof_fates import Reaping, Retrying
from tests.support.proof_watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.db.connection import Connection
    from tests.support.proof_agent import ProofAgent
    from tests.support.proof_fates import Action
    from tests.support.proof_world import World

_WELL = (Outcome.OK, Outcome.NOTHING)
GOES_ON, KILLED, STOPPED = "goes on", "killed", "stopped"


@dataclass(frozen=True, slots=True)
class Cut:
    """What comes in between, at which moment (see Interruption), and how the pass ends.

    `meanwhile`: what others do, each with a number that says who or how.
    """

    at: int
    meanwhile: tuple[tuple[str, int], ...]
    ending: str


class Passes:
    """The product at work in a world.

    `_told`: what the passes at hand say that they did; `_acting`: whose they are; `_before_end`: how many jobs were
    changed when a pass was killed or told to stop.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._told: Counter[str] = Counter()
        self._acting: ProofAgent | None = None
        self._before_end = 0
        self._stopped = False

    def agent_acts(self, agent: ProofAgent, cut: Cut | None) -> bool:
        """Let an agent tick and run its reaper; whether it has led and come to the end of a pass."""
        world, retry = self.world, ground_.RETRY_SECONDS
        agent.tick()
        if not agent.leading.reached:
            agent.tick()  # it has only now noticed that its session is gone
        assert agent.leading.reached
        assert agent.leads or world.stage.leaders() == 1 or world.excused(retry), "nobody leads"
        due, leads, resumes = agent.due, agent.leads, agent.resumes
        watch = self._watch(Reaping(world.model))
        if not leads:
            watch.may, watch.must = set(), set()

        def stop() -> None:
            agent.stopping = True

        interruption = self._interruption(cut, stop)
        self._acting = agent
        ran, result = agent.act(interruption)
        self._tell(result)
        if ran is not None and ran.rebind and not (interruption and interruption.happened):
            agent.tick()
            ran, result = agent.act()
            self._tell(result)
        agent.stopping, self._acting = False, None
        ended = _ended(cut, interruption)
        failed = leads and (ran is None or ran.outcome not in _WELL)
        assert leads or ran is None
        assert not failed or ended != GOES_ON or world.excused(retry), ran
        done = leads and due and not failed and ended == GOES_ON
        self._end(watch, ended, whole=done and not resumes, alone=interruption is None or not interruption.happened)
        if ended == STOPPED:
            agent.end()
            agent.start()
        return done

    def reap_by_hand(self, cut: Cut | None, *, include_stale: bool) -> None:
        """A pass as a person makes it, beside whoever leads."""
        self._by_hand(Reap(include_stale=include_stale), Reaping(self.world.model, include_stale), cut)

    def retry(self, cut: Cut | None, *, rate: float, extra_attempts: int | None) -> None:
        """All dead letters back to work, wherever they are; a second time there is nothing to do."""
        dying_meanwhile = 0 if cut is None else len(cut.meanwhile)
        most = len(self.world.model.deceased()) + dying_meanwhile
        retrying = Retrying(self.world.model, rate, extra_attempts, most)
        if self._by_hand(DeadRetry(rate=rate, extra_attempts=extra_attempts), retrying, cut):
            self._by_hand(DeadRetry(rate=rate, extra_attempts=extra_attempts), retrying, None)

    def _by_hand(self, task: Reap | DeadRetry, action: Action, cut: Cut | None) -> bool:
        watch, columns = self._watch(action), self.world.columns()

        def stop() -> None:
            self._stopped = True

        interruption = self._interruption(cut, stop)
        failure = run_by_hand(self.world.stage, task, lambda: not self._stopped, interruption)
        self._tell(task.done.get(NAME))
        ended = _ended(cut, interruption)
        changed = isinstance(failure, TableChanged) and self.world.columns() != columns
        assert failure is None or ended == KILLED or changed or self.world.excused(), failure
        whole = failure is None and ended == GOES_ON
        self._end(watch, ended, whole=whole, alone=interruption is None or not interruption.happened)
        return whole

    def _watch(self, action: Action) -> Watch:
        self._told, self._stopped = Counter(), False
        watch = self.world.watch = Watch(self.world.stage, self.world.model, action)
        return watch

    def _tell(self, result: object) -> None:
        if isinstance(result, ReapResult):
            self._told["requeued"] += result.requeued
            self._told["dead_lettered"] += result.dead_lettered
            self._told["conflict"] += result.conflicts
        elif isinstance(result, RetryResult):
            self._told["retried"] += result.counts.jobs
            self._told["conflict"] += result.counts.refused or 0

    def _end(self, watch: Watch, ended: str, *, whole: bool, alone: bool) -> None:
        self.world.watch = None
        watch.end(self._told, whole=whole)
        if ended != GOES_ON and isinstance(watch.action, Reaping):
            further = len(watch.changed) - self._before_end
            assert further <= (0 if ended == KILLED else ground_.BATCH_SIZE), "it went on after its end"
        for _, outcome in watch.changed:
            self.world.saw(outcome)
        if whole and alone and isinstance(watch.action, Reaping):
            overdue = self.world.stage.overdue(ground_.GRACE_SECONDS)
            assert not overdue, f"still running, and in nobody's hands: {overdue}"

    def _interruption(self, cut: Cut | None, stop: Callable[[], None]) -> Interruption | None:
        if cut is None:
            return None

        def then(connection: Connection) -> None:
            watch = self.world.watch
            assert watch is not None
            watch.settle()
            for what, number in cut.meanwhile:
                self._meanwhile(what, number)
            watch.go_on()
            self._before_end = len(watch.changed)
            self.world.saw(f"a pass that others came into {cut.ending}")
            if cut.ending == KILLED:
                self.world.stage.terminate(connection)
            if cut.ending == STOPPED:
                stop()

        return Interruption(cut.at, then)

    def _meanwhile(self, what: str, number: int) -> None:
        """Others act while a batch may be open: its rows are locked, and what it has written is not to be seen."""
        world = self.world
        worker = world.workers[number % len(world.workers)]
        if what == "time":
            world.clock.forward((1, 6, 31)[number])
        elif what == "column":
            world.add_column(to_dead=bool(number % 2), default=None)
        elif what == "reap":
            self._second_pass(None)
        elif what == "agent":
            self._second_pass(world.agents[number % len(world.agents)])
        elif what == "claim":
            if worker.open is None and worker.claim is None:
                world.claim(worker, leave_open=number == 1)
        elif what == "end":
            if worker.open is not None:
                world.end_transaction(worker, commit=number != 1)
        elif worker.open is None and worker.claim is not None and (what != "heartbeat" or world.ground.heartbeat):
            world.change(worker, what, leave_open=number == 1)

    def _second_pass(self, agent: ProofAgent | None) -> None:
        """A second reaper at once, by hand or an agent: it takes all but what the first one's batch holds."""
        watch, world = self.world.watch, self.world
        if watch is None or not isinstance(watch.action, Reaping) or (agent is not None and agent is self._acting):
            return
        watch.go_on()
        if agent is None:
            task = Reap()
            failure = run_by_hand(world.stage, task, lambda: True)
            self._tell(task.done.get(NAME))
            whole = failure is None
            assert whole or world.excused(), failure
        else:
            agent.tick()
            assert not agent.leads or self._acting is None, "two lead"
            due = agent.due and not agent.resumes
            ran, result = agent.act()
            self._tell(result)
            assert ran is None or ran.outcome in _WELL or world.excused(ground_.RETRY_SECONDS), ran
            whole = due and ran is not None and ran.outcome in _WELL
        watch.settle()
        assert not whole or len(world.model.reapable()) <= ground_.BATCH_SIZE, "two have left more than a batch"
        world.saw("two passes at once" if whole else "an agent that had nothing to do")


def _ended(cut: Cut | None, interruption: Interruption | None) -> str:
    return cut.ending if cut is not None and interruption is not None and interruption.happened else GOES_ON
