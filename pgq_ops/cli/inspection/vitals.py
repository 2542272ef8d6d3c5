"""What finding a job costs, and what vacuum and other sessions have to do with it: read section by section."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from pgq_ops.checks.look import DatabaseLook
from pgq_ops.cli.inspection.section import Section
from pgq_ops.db.connection import row_security
from pgq_ops.stats import blocking, claim_cost, claim_statements, horizon, ready_locked, table_health, transactions
from pgq_ops.stats.claim_best import better
from pgq_ops.stats.steady_horizon import SteadyHorizon
from pgq_ops.stats.vacuum_watch import VacuumWatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.blocking import Blocking
    from pgq_ops.stats.claim_cost import ClaimCost
    from pgq_ops.stats.claim_statements import ClaimStatements
    from pgq_ops.stats.horizon import Horizon
    from pgq_ops.stats.ready_locked import ReadyLocked
    from pgq_ops.stats.table_health import TableHealth
    from pgq_ops.stats.transactions import Transactions


@dataclass(slots=True)
class TableVitals:
    """The sections of one job table. `best_claim`: the cheapest claim among the looks so far."""

    table: JobTable
    clock: Callable[[], float] = time.monotonic
    claim: Section[ClaimCost | None] = field(init=False)
    statements: Section[ClaimStatements] = field(init=False)
    locked: Section[ReadyLocked | None] = field(init=False)
    health: Section[TableHealth] = field(init=False)
    best_claim: ClaimCost | None = None
    _watch: VacuumWatch = field(default_factory=VacuumWatch)

    def __post_init__(self) -> None:
        """Nothing is read yet."""
        self.claim = Section("claim", self.clock)
        self.statements = Section("claim_statements", self.clock)
        self.locked = Section("ready_locked", self.clock)
        self.health = Section("relation", self.clock)

    def sections(self) -> tuple[Section[Any], ...]:
        """All of them."""
        return self.claim, self.statements, self.locked, self.health

    def read_counters(self, connection: Connection) -> None:
        """Look at what is due of that which asks nothing of the table itself."""
        self.health.look(lambda: self._watch.watched(table_health.read(connection, self.table), self.clock()))
        self.statements.look(lambda: claim_statements.read(connection, self.table))

    def read_claims(self, connection: Connection, *, busy: str = "") -> None:
        """Look at what is due of the rest. `busy`: why nothing is asked of the table in this round; empty if it is."""
        if busy:
            self.claim.skip(busy)
            self.locked.skip(busy)
            return
        with row_security(connection, allowed=self.table.all_visible_policies):
            self.claim.look(lambda: claim_cost.read(connection, self.table))
            self.locked.look(lambda: ready_locked.read(connection, self.table))
        if self.claim.value is not None:
            self.best_claim = better(self.best_claim, self.claim.value)


@dataclass(slots=True)
class DatabaseVitals:
    """The sections that all job tables share."""

    warn_after_seconds: float
    clock: Callable[[], float] = time.monotonic
    horizon: Section[Horizon] = field(init=False)
    transactions: Section[Transactions] = field(init=False)
    blocking: Section[Blocking] = field(init=False)
    # There may be no other look: what one shows is told.
    _steady: SteadyHorizon = field(default_factory=partial(SteadyHorizon, looks=1))

    def __post_init__(self) -> None:
        """Nothing is read yet."""
        self.horizon = Section("horizon", self.clock)
        self.transactions = Section("transactions", self.clock)
        self.blocking = Section("blocking", self.clock)

    def sections(self) -> tuple[Section[Any], ...]:
        """All of them."""
        return self.horizon, self.transactions, self.blocking

    def read(self, connection: Connection) -> DatabaseLook:
        """Look at what is due. Raises the driver's error where the connection is lost."""
        self.horizon.look(lambda: self._steady.judged(horizon.read(connection), self.clock()))
        self.transactions.look(lambda: transactions.read(connection))
        seen = self.transactions.value
        if seen is None or not seen.visible:
            self.blocking.skip(self.transactions.why or "this role does not see other sessions")
        elif seen.waiting:
            self.blocking.look(lambda: blocking.read(connection))
        else:
            self.blocking.hold(blocking.Blocking())
        return DatabaseLook(self.horizon.value, self.transactions.value, self.blocking.value, self.warn_after_seconds)
