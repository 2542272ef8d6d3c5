"""What one round saw: frozen, and free of any database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.checks.look import DatabaseLook
from pgq_ops.cli.several import united
from pgq_ops.errors import DatabaseUnreachable, PgqOpsError

if TYPE_CHECKING:
    from pgq_ops.checks.finding import Finding
    from pgq_ops.checks.look import Look
    from pgq_ops.stats.agent_looks import AgentLook
    from pgq_ops.stats.dead_overview import DeadOverview
    from pgq_ops.stats.next_expiries import NextExpiry
    from pgq_ops.stats.task_runs import TaskRun


@dataclass(frozen=True, slots=True)
class TableView:
    """One job table.

    `table` is its name as bound, else as configured; `look` is None where it could not be bound, and `error` says
    why. `not_read` says why a section (jobs, indexes, leases, next_expiries, dead_letters, task_runs, agents,
    claim, claim_statements, ready_locked, relation) has no value; `ages` holds the seconds since it was read. `bound`
    is false where the table's mapping could not be checked for a lock, so that only what needs none of it was read.
    """

    name: str
    table: str
    collected_at: str | None = None
    look: Look | None = None
    expiries: tuple[NextExpiry, ...] | None = None
    dead: DeadOverview | None = None
    runs: tuple[TaskRun, ...] | None = None
    agents: tuple[AgentLook, ...] | None = None
    findings: tuple[Finding, ...] = ()
    not_read: Mapping[str, str] = field(default_factory=dict)
    ages: Mapping[str, float] = field(default_factory=dict)
    error: PgqOpsError | None = None
    bound: bool = True

    @property
    def readable(self) -> bool:
        """Whether anything at all was read of the jobs."""
        return self.look is not None and (self.look.depths is not None or self.look.leases is not None)


@dataclass(frozen=True, slots=True)
class Round:
    """All job tables at one moment (ISO 8601, database clock). `database` says which one, for people.

    `shared` was read once for all of them; `not_read` says why a part of it (horizon, transactions, blocking) was not.
    """

    database: str
    at: str
    tables: tuple[TableView, ...]
    shared: DatabaseLook = field(default_factory=DatabaseLook)
    not_read: Mapping[str, str] = field(default_factory=dict)

    def failure(self) -> PgqOpsError | None:
        """What the command ends with after showing what there is: what is wrong with single tables, or nothing read.

        A table that is only locked is no failure while another one could be read.
        """
        wrong = united(view.error for view in self.tables if view.error is not None)
        if wrong is not None:
            return wrong
        if any(view.readable for view in self.tables):
            return None
        reasons = {f"{view.name}: {next(iter(view.not_read.values()), 'unknown')}" for view in self.tables}
        return DatabaseUnreachable(f"no job table could be read: {'; '.join(sorted(reasons))}")
