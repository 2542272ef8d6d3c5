"""An agent of the proof: the agent's own leader, bindings, supervisor and reaper, a step at a time, without threads.

Its process clock is the test's: it starts anywhere, and its wall clock is wrong by `offset` seconds.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from psycopg.pq import TransactionStatus

from pgq_ops.agent.bindings import Bindings
from pgq_ops.agent.leading import Leading
from pgq_ops.db.connection import WRITE_LIMITS, Purpose
from pgq_ops.db.session import Session
from pgq_ops.leader.leadership import Leadership
from pgq_ops.leader.settle import Settle
from pgq_ops.scheduler.footing import LeaderFooting
from pgq_ops.scheduler.journal import Journal
from pgq_ops.scheduler.supervisor import Supervisor
from pgq_ops.tasks.reap import Reap
from pgq_ops.tasks.reap_memory import ReapMemory
from pgq_ops.tasks.reap_result import ReapResult
from tests.support import proof_ground as ground_
from tests.support.binding import loaded_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pgq_ops.db.connection import Connection
    from pgq_ops.scheduler.supervisor import Ran
    from tests.support.proof_stage import Stage

NAME = "emails"
_EVERY = timedelta(seconds=ground_.EVERY_SECONDS)
# Nothing is ever out of time: what a step lasts is not the proof's matter.
_BUDGET = timedelta(days=10_000)


@dataclass(slots=True)
class Interruption:
    """`then` is called at the `at`-th moment of a pass.

    Each batch has one before it takes its rows, and another when it has written them and is about to commit.
    """

    at: int
    then: Callable[[Connection], None]
    happened: bool = False
    _moments: int = 0

    def moment(self, connection: Connection) -> None:
        self._moments += 1
        if self._moments == self.at:
            self.happened = True
            self.then(connection)


@contextmanager
def interrupted(connection: Connection, interruption: Interruption | None) -> Iterator[None]:
    """Watch the connection's batches (the statements with SKIP LOCKED), and interrupt where it is asked for."""
    if interruption is None:
        yield
        return
    execute = connection.execute

    def watched(query: Any, *arguments: Any, **options: Any) -> object:
        if "SKIP LOCKED" not in str(query):
            return execute(query, *arguments, **options)
        interruption.moment(connection)
        alone = connection.info.transaction_status == TransactionStatus.IDLE
        # A statement that is its own transaction is given a moment between its end and its commit.
        with connection.transaction() if alone else nullcontext():
            cursor = execute(query, *arguments, **options)
            interruption.moment(connection)
        return cursor

    with patch.object(connection, "execute", watched):
        yield


class ProofAgent:
    """One agent process. `tick()` looks after leadership and bindings, `act()` runs the reaper where it leads."""

    def __init__(self, stage: Stage, number: int) -> None:
        self.stage = stage
        self.number = number
        self.offset = 0.0
        self.start()

    def start(self) -> None:
        """A new process, which remembers nothing."""
        loaded = loaded_of(self.stage.ground.toml, self.stage.database.dsn)
        self.stopping, self.connected = False, False
        self.session = Session(loaded.config.database, Purpose.LEADER, WRITE_LIMITS)
        settle = Settle()
        self.leadership = Leadership(self.session, "manage", settle)
        self.bindings = Bindings(loaded, must_fit=False)
        self.reap = Reap(remembers=True, settled=settle.settled)
        self.reap._memories[NAME] = ReapMemory(clock=self._monotonic)
        self.supervisor = Supervisor(LeaderFooting(self.session, self.leadership), Journal(), lambda: self.stopping)
        self.leading = Leading(
            self.session, self.leadership, self.bindings, self.stage.database.name, lambda _gained, _lost: None
        )

    @property
    def leads(self) -> bool:
        return self.leadership.holds(NAME)

    @property
    def due(self) -> bool:
        """Whether its reaper's interval is over, as far as it knows."""
        last = self.reap._memories[NAME].last_pass.get(None)
        return last is None or self._monotonic() - last >= ground_.EVERY_SECONDS

    @property
    def resumes(self) -> bool:
        """Whether its next pass goes on where the last one was cut short: it looks only at what is behind that."""
        return bool(self.reap._memories[NAME].cuts)

    def tick(self) -> None:
        with self._own_clock():
            self.leading.tick()
        self.connected = self.leading.reached

    def act(self, interruption: Interruption | None = None) -> tuple[Ran | None, ReapResult]:
        """Run the reaper as the scheduler does: how that ended (None: not the leader's to do), and what was done."""
        self.reap.done.pop(NAME, None)
        table, connection = self.bindings.tables().get(NAME), self.leadership.connection()
        if table is None or connection is None:
            return None, ReapResult()
        with self._own_clock(), interrupted(connection, interruption):
            ran = self.supervisor.run(self.reap, table, _EVERY, _BUDGET)
        if ran is not None and ran.rebind:
            self.bindings.rebind(NAME)
        return ran, self.reap.done.get(NAME, ReapResult())

    def lose_session(self) -> None:
        """The server ends its session; the process lives on and does not know yet."""
        connection = self.leadership.connection()
        if connection is not None:
            self.stage.terminate(connection)
        self.connected = False

    def end(self) -> None:
        """As by kill -9."""
        self.lose_session()
        self.session.close()

    def _monotonic(self) -> float:
        """Seconds since anything: no two agents agree."""
        return self.stage.clock.seconds + 1_000.0 * (self.number + 1)

    @contextmanager
    def _own_clock(self) -> Iterator[None]:
        wall = time.time() + self.offset
        with patch("time.monotonic", self._monotonic), patch("time.time", lambda: wall):
            yield
