"""The state machine: which things may happen next. What they do and must come to is in proof_world and proof_passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.support import proof_ground as ground_
from tests.support.proof_events import ATTEMPTS, what_may_happen
from tests.support.proof_passes import Passes
from tests.support.proof_world import World, check

if TYPE_CHECKING:
    from tests.support.proof_agent import ProofAgent
    from tests.support.proof_passes import Cut
    from tests.support.proof_stage import Stage
    from tests.support.proof_worker import Worker

T = TypeVar("T")
# A day makes all that runs stale: seldom, or nothing is left to reap.
MOST_DAYS = 2


class QueueMachine(RuleBasedStateMachine):
    """A queue with workers, reapers and migrations on the stage that a subclass names.

    All that happens is one rule, which chooses among what is possible: hypothesis leaves out half of the rules in each
    run, and without claims, or time, or passes a run shows nothing.
    """

    stage: ClassVar[Stage]
    world: World

    def __init__(self) -> None:
        super().__init__()
        self.world = World(self.stage)
        self.passes = Passes(self.world)
        self.days = 0

    def teardown(self) -> None:
        self.world.saw("run")
        self.world.close()

    @invariant()
    def the_world_is_as_it_should_be(self) -> None:
        self.world.saw("step")
        check(self.world)

    @initialize(attempts=st.lists(ATTEMPTS, min_size=2, max_size=6), stranded=st.integers(0, 6))
    def some_jobs_are_there(self, attempts: list[int], stranded: int) -> None:
        self.enqueue(attempts, 0, stranded)

    @rule(event=st.runner().flatmap(what_may_happen))
    def happens(self, event: tuple[str, dict[str, Any]]) -> None:
        name, arguments = event
        getattr(self, name)(**arguments)

    def enqueue(self, attempts: list[int], delay: int, stranded: int) -> None:
        """Some of what is due is claimed by a worker that dies of it at once."""
        for number in attempts:
            self.world.enqueue(delay, number)
        for worker in self.idle()[:1]:
            for _ in range(min(stranded, len(self.world.model.due()))):
                self.world.claim(worker, leave_open=False)
                worker.claim = None

    def claim(self, workers: int, offset: int, *, leave_open: bool) -> None:
        for worker in self.idle()[:workers]:
            worker.offset = offset
            self.world.claim(worker, leave_open=leave_open)

    def worker_goes_on(self, who: int, what: str, offset: int, *, leave_open: bool) -> None:
        """On time, or long after its job was given to another."""
        worker = _one(self.working(), who)
        worker.offset = offset
        if what != "heartbeat" or self.world.ground.heartbeat:
            self.world.change(worker, what, leave_open=leave_open)

    def transaction_ends(self, who: int, *, commit: bool) -> None:
        self.world.end_transaction(_one(self.in_transaction(), who), commit=commit)

    def worker_dies(self, who: int) -> None:
        self.world.worker_dies(_one(self.busy(), who))

    def time_passes(self, seconds: int, dice: float) -> None:
        self.world.clock.set(self.world.clock.seconds + seconds, dice)

    def time_comes_to_an_edge(self, which: int, beside: int, stale: int, *, reap: bool) -> None:
        """A moment before, at, or after a lease has run out; seldom (`stale` is 7), has become stale."""
        moment = _one(self.edges(), which) + beside
        if stale == 7 and self.days < MOST_DAYS:
            self.days += 1
            moment += ground_.MAX_EXPIRED_AGE_SECONDS
        self.world.clock.set(max(moment, self.world.clock.seconds), self.world.clock.dice)
        if reap:
            self.passes.reap_by_hand(None, include_stale=False)

    def agent_acts(self, who: int, cut: Cut | None) -> None:
        self.passes.agent_acts(self.world.agents[who], cut)

    def the_interval_passes(self, *, second_first: bool) -> None:
        """Whoever leads takes back everything: nothing stays running past lease + grace + interval."""
        self.world.clock.forward(ground_.EVERY_SECONDS)
        agents = self.world.agents[:: -1 if second_first else 1]
        done = [self.passes.agent_acts(agent, None) for agent in agents]
        assert sum(done) == 1 or self.world.excused(ground_.RETRY_SECONDS), "exactly one agent works"

    def somebody_reaps(self, cut: Cut | None, *, include_stale: bool) -> None:
        self.passes.reap_by_hand(cut, include_stale=include_stale)

    def somebody_retries_the_dead(self, cut: Cut | None, rate: float, extra_attempts: int | None) -> None:
        self.passes.retry(cut, rate=rate, extra_attempts=extra_attempts)

    def agent_dies(self, who: int, offset: int, *, session_only: bool) -> None:
        """Its session is ended by the server; or the process is killed, and another starts with another clock."""
        agent = _one(self.connected(), who)
        self.world.saw("the leader died" if agent.leads else "a follower died")
        if session_only:
            agent.lose_session()
        else:
            agent.end()
            agent.start()
            agent.offset = offset

    def column_is_added(self, *, to_dead: bool, default: str | None) -> None:
        self.world.add_column(to_dead=to_dead, default=default)

    def idle(self) -> list[Worker]:
        return [worker for worker in self.world.workers if worker.open is None and worker.claim is None]

    def working(self) -> list[Worker]:
        return [worker for worker in self.world.workers if worker.open is None and worker.claim is not None]

    def in_transaction(self) -> list[Worker]:
        return [worker for worker in self.world.workers if worker.open is not None]

    def busy(self) -> list[Worker]:
        return [worker for worker in self.world.workers if worker.claim is not None]

    def connected(self) -> list[ProofAgent]:
        return [agent for agent in self.world.agents if agent.connected]

    def edges(self) -> list[float]:
        """When leases, with their grace, run out."""
        ends = [self.world.model.ends_at(row) for row in self.world.model.jobs.values()]
        return sorted({end for end in ends if end is not None})


def _one(those: list[T], number: int) -> T:
    return those[number % len(those)]
