"""One run of the demo, from an empty server to the evidence."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pgq_ops.demo.crew import Crew
from pgq_ops.demo.evidence import gather
from pgq_ops.demo.look import Lookout
from pgq_ops.demo.news import sentence
from pgq_ops.demo.producer import Producer
from pgq_ops.demo.schedule import STALLED_AFTER, Schedule
from pgq_ops.demo.sidecar import AgentFailed
from pgq_ops.demo.trouble import Trouble
from pgq_ops.demo.verdict import late_completions_refused
from pgq_ops.demo.view import Frame

if TYPE_CHECKING:
    from pathlib import Path

    import psycopg

    from pgq_ops.demo.interruption import Interruption
    from pgq_ops.demo.look import Look
    from pgq_ops.demo.sidecar import Sidecar
    from pgq_ops.demo.view import View

_POISON_JOBS = 2
_AGENT_READY_SECONDS = 30.0
_TICK_SECONDS = 0.1


@dataclass(slots=True)
class Run:
    """Workers, trouble and the agent on one job table. `began` is when the demo was started (monotonic)."""

    connection: psycopg.Connection[Any]
    dsn: str
    folder: Path
    sidecar: Sidecar | None
    workers: int
    total_seconds: float
    began: float
    view: View
    interruption: Interruption
    _crew: Crew = field(init=False, repr=False)
    _lookout: Lookout = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._crew = Crew(self.workers, self.dsn, self.folder, self.connection, self._say)
        self._lookout = Lookout(self.connection)

    def play(self) -> None:
        """Run until the queue has drained, nothing moves any more, or somebody interrupts.

        Raises WorkerFailed, AgentFailed. The workers are gone afterwards.
        """
        try:
            self._crew.tick()
            self._await_agent()
            producer = Producer(self.connection, self.workers)
            producer.enqueue_poison(_POISON_JOBS)
            schedule = Schedule.starting_at(self._now(), self.total_seconds)
            trouble = Trouble.from_(self._now(), self._crew, self._lookout.held)
            self._work(schedule, producer, trouble)
            self._drain(schedule, trouble)
        finally:
            self._crew.dismiss()

    def _await_agent(self) -> None:
        deadline = time.monotonic() + _AGENT_READY_SECONDS
        while self.sidecar is not None and not self.interruption.requested and not self.sidecar.is_ready():
            if time.monotonic() > deadline:
                raise AgentFailed(f"pgq-ops agent does not get ready:\n{self.sidecar.log_end()}")
            time.sleep(_TICK_SECONDS)

    def _work(self, schedule: Schedule, producer: Producer, trouble: Trouble) -> None:
        """Enqueue and make trouble; on a machine so busy that none came about in time, go on a little longer."""
        before = self._now()
        while not self.interruption.requested:
            now = self._now()
            in_want = not trouble.has_struck and now < schedule.give_up_at
            if now >= schedule.enqueue_until and not in_want:
                return
            producer.tick(now - before)
            before = now
            if now < schedule.trouble_until or in_want:
                trouble.strike(now)
            self._tick("jobs come in, workers fail", trouble)

    def _drain(self, schedule: Schedule, trouble: Trouble) -> None:
        """Wait for what is left, as long as anything moves."""
        moved_at, seen = self._now(), 0
        while not self.interruption.requested:
            look = self._tick("the queue drains", trouble)
            if not look.open and trouble.is_over and late_completions_refused(gather(self.connection), 0).holds:
                return
            now, happened = self._now(), sum(look.events.values())
            if happened != seen:
                moved_at, seen = now, happened
            if now > schedule.give_up_at or now - moved_at > STALLED_AFTER.total_seconds():
                self._say("nothing moves any more: given up waiting")
                return

    def _tick(self, phase: str, trouble: Trouble) -> Look:
        started = time.monotonic()
        self._crew.tick()
        if self.sidecar is not None:
            self.sidecar.check()
        look = self._lookout.look()
        trouble.wake_up(self._now(), look.held)
        for entry in look.news:
            self._say(sentence(entry))
        self.view.draw(Frame(self._now(), self.total_seconds, phase, look, self._crew.members, self._crew.hung))
        time.sleep(max(0.0, _TICK_SECONDS - (time.monotonic() - started)))
        return look

    def _say(self, text: str) -> None:
        self.view.say(self._now(), text)

    def _now(self) -> float:
        return time.monotonic() - self.began
