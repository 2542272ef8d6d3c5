"""Ends sessions that sit idle in a transaction for too long, of those that the configuration names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops.config.writing import toml_text
from pgq_ops.errors import ActionFailed, NotPermitted
from pgq_ops.stats import transactions
from pgq_ops.tasks import end_session
from pgq_ops.tasks.end_matching import matching
from pgq_ops.tasks.end_result import EndResult
from pgq_ops.tasks.end_session import Fate
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.config.transactions import EndOnly
    from pgq_ops.config.transactions import Transactions as Terms
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.transactions import Transaction
    from pgq_ops.tasks.task import Guard


@dataclass(frozen=True, slots=True)
class EndTransactions:
    """The task, by the terms of `[transactions]`. It concerns the whole database, whichever job table it runs for.

    Due is a session that is idle in a transaction older than `end_after`, matches `end_only`, and has been idle for a
    round: one that is busy with many short statements is not ended between two of them.
    """

    terms: Terms
    name: str = "transactions"

    def plan(self, connection: Connection, table: JobTable) -> EndResult:
        """Who would be ended now. Raises NotPermitted where the role cannot see other sessions."""
        del table
        due = [end_session.plan(connection, one.pid, one.started, self._idle()) for one, _ in self._due(connection)]
        return EndResult(tuple(due), dry_run=True)

    def run(self, connection: Connection, table: JobTable, guard: Guard) -> EndResult:
        """End who is due, one by one.

        Raises, once all were tried: NotPermitted with the GRANT, ActionFailed where a session would not end.
        """
        del table
        end_session.SESSIONS_ENDED.labels(connection.info.dbname)  # from 0 on
        ended = []
        for one, rule in self._due(connection):
            if not guard():
                break
            ended.append(end_session.end(connection, one.pid, one.started, self._why(rule), self._idle()))
        result = EndResult(tuple(ended))
        if refused := result.with_fate(Fate.NOT_PERMITTED):
            raise NotPermitted(f"could not end {refused[0]}: {refused[0].reason}", refused[0].remedy)
        if there := result.with_fate(Fate.STILL_THERE):
            raise ActionFailed(f"could not end {there[0]}: {there[0].reason}")
        return result

    def _due(self, connection: Connection) -> Iterator[tuple[Transaction, EndOnly]]:
        seen = transactions.read(connection)
        if not seen.visible:
            role = connection.info.user
            message = f"role {role} does not see other sessions' transactions"
            raise NotPermitted(message, end_session.granting("pg_monitor", role))
        for one in seen.longer_than(self.terms.end_after.total_seconds()):
            rule = matching(self.terms.end_only, one)
            if rule is not None and one.idle and (one.idle_seconds or 0.0) > self._idle() and not one.superuser:
                yield one, rule

    def _idle(self) -> float:
        return min(self.terms.every, self.terms.end_after).total_seconds()

    def _why(self, rule: EndOnly) -> str:
        keys = {"application_name": rule.application_name, "user": rule.user}
        wanted = ", ".join(f"{key} = {toml_text(value)}" for key, value in keys.items() if value is not None)
        return (
            f"idle in a transaction older than end_after ({format_duration(self.terms.end_after)}), by {{ {wanted} }}"
        )
