"""One run: a server, two agents and the workers; a storm, then a calm, then the queue drains and is held to account."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg

from pgq_ops.schema.versions import install
from soak import final, record
from soak.agents import Agents
from soak.counters import Balance, counts
from soak.crew import Crew
from soak.history import histories
from soak.plan import Kind, Plan
from soak.result import Result, overdue
from soak.terms import TABLES, statement
from soak.verdict import Verdict, all_violations
from soak.watch import Watch

if TYPE_CHECKING:
    from pathlib import Path

    from pgq_ops.demo.server import EmbeddedServer
    from soak.agent import Counts

_TICK_SECONDS = 0.02
_ASK_SECONDS = 0.4
_READY_SECONDS = 60.0
_DRAIN_SECONDS = 120.0
# An asynchronous commit is on disk after three times wal_writer_delay, which is 200 ms.
_UNDONE_SECONDS = 2.0

Say = Callable[[str], None]


@dataclass(slots=True)
class Run:
    """The parts of one run. Call `run()` once; processes that are left over are ended in any case."""

    server: EmbeddedServer
    folder: Path
    plan: Plan
    say: Say
    done: Counter[Kind] = field(default_factory=Counter)
    undone: Counts = field(default_factory=Counter)
    watch: Watch = field(init=False)
    crew: Crew = field(init=False)
    agents: Agents = field(init=False)
    _dice: random.Random = field(init=False)
    _asked_at: float = 0.0
    _counted: list[tuple[float, Counts]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the parts."""
        dsn, dice = self.server.dsn(), random.Random(self.plan.seed)
        self._dice = dice
        self.watch = Watch(dsn)
        self.crew = Crew(dsn, self.plan.workers, self.folder, self.plan.poison_share, dice)
        self.agents = Agents(dsn, self.folder, dice)

    def run(self) -> Result:
        """Run it all; raises TimeoutError where agents do not begin or the queue does not drain."""
        began = time.monotonic()
        self._make_tables()
        try:
            self.agents.start()
            self._until(self.agents.ready, _READY_SECONDS, "both job tables are led")
            self._until(self._at_work, _READY_SECONDS, "every worker has begun")
            self._storm()
            self.agents.abandon()
            self._until(lambda: not self.watch.ask(statement("list_agent_backends")), _READY_SECONDS, "they are gone")
            before = counts(self.watch.ask(statement("count_log")))
            storm_counted = self.agents.counted()
            self.watch.trouble()
            self.agents.start()
            self._calm()
            self._asked_at = 0.0
            exit_codes = self.agents.end()
        finally:
            self.crew.dismiss()
            self.agents.abandon()
        return self._result(time.monotonic() - began, before, storm_counted, exit_codes)

    def _make_tables(self) -> None:
        with psycopg.connect(self.server.dsn(), autocommit=True) as connection:
            for table in TABLES:
                for name in ("create_table", "create_pending_index", "create_running_index"):
                    connection.execute(table.statement(name), {})
            connection.execute(statement("started/create_dead_letter_table"), {})
            install(connection)

    def _at_work(self) -> bool:
        self.crew.tick()
        return len(list(self.folder.glob("*.record"))) >= self.plan.workers

    def _storm(self) -> None:
        began = time.monotonic()
        troubles = self.plan.troubles(self._dice)
        while troubles or time.monotonic() < began + self.plan.seconds:
            self._tick()
            if troubles and time.monotonic() >= began + troubles[0][0]:
                at, kind = troubles.pop(0)
                if not self._trouble(kind):
                    troubles.insert(0, (at + _ASK_SECONDS, kind))
                    troubles.sort()

    def _calm(self) -> None:
        """Nobody touches the agents; after a while no jobs are added, until none is left."""
        until = time.monotonic() + self.plan.calm_seconds
        while time.monotonic() < until:
            self._tick()
        self.crew.calm_down()
        self._until(self._drained, _DRAIN_SECONDS, "all jobs are finished")

    def _drained(self) -> bool:
        self._tick()
        return not any(self.watch.ask(table.statement("count_open"))[0][0] for table in TABLES)

    def _tick(self) -> None:
        self.crew.tick()
        self.watch.look()
        if time.monotonic() - self._asked_at >= _ASK_SECONDS:
            self.agents.ask()
            self._asked_at = time.monotonic()
            self._counted.append((time.monotonic(), self.agents.counted()))
        time.sleep(_TICK_SECONDS)

    def _trouble(self, kind: Kind) -> bool:
        """Whether there was something to be troubled."""
        if kind is Kind.TERMINATE:
            backends = self.watch.ask(statement("list_agent_backends"))
            pid, may_lead = self._dice.choice(backends) if backends else (0, False)
            if not pid or not self.watch.ask(statement("terminate"), {"pid": pid})[0][0]:
                return False
            if may_lead:  # the loss of the other session is no excuse for a lease that is not taken back
                self.watch.trouble()
        else:
            if kind is Kind.KILL:
                self.agents.kill()
            else:
                self._restart(kind)
            self.watch.trouble()
        self.done[kind] += 1
        return True

    def _restart(self, kind: Kind) -> None:
        began = time.monotonic()
        if kind is Kind.CRASH:
            self.server.kill()
        else:
            self.server.stop()
        self.server.start()
        self.say(f"{kind}: {time.monotonic() - began:.1f} s")
        if kind is Kind.CRASH:
            self.agents.ask()
            safe = [known for at, known in self._counted if at < began - _UNDONE_SECONDS]
            self.undone += self.agents.counted() - (safe[-1] if safe else Counter())

    def _until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {seconds:.0f} s: {what}; see {self.folder}")
            time.sleep(_TICK_SECONDS)

    def _result(self, seconds: float, before: Counts, storm_counted: Counts, exit_codes: list[int]) -> Result:
        ends = {table.name: final.read(self.watch, table) for table in TABLES}
        known = histories(record.read(self.folder))
        verdicts = [
            Verdict(table, known[table.name], ends[table.name], frozenset(self.watch.starts_us)) for table in TABLES
        ]
        logged = counts(self.watch.ask(statement("count_log")))
        counted = self.agents.counted()
        balance = Balance(
            tuple(self.agents.everybody), counted, logged, counted - storm_counted, logged - before, self.undone
        )
        violations = all_violations(verdicts)
        violations += balance.violations(ends)
        violations += overdue(self.watch, self.plan.slack_seconds)
        violations += [f"an agent ended by itself: {how}" for how in self.agents.ended_by_themselves]
        violations += [f"an agent ended with {code} when asked to end" for code in exit_codes if code]
        return Result.of(self, seconds, known, ends, balance, violations)
