"""Long and idle transactions of the database's clients, and who waits for locks around the job tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.metrics import Family
from pgq_ops.stats import blocking, transactions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pgq_ops.db.connection import Connection
    from pgq_ops.metrics import Sample
    from pgq_ops.probes.database_memory import DatabaseMemory

LONG = Family("long_transactions", "Clients' transactions that began longer ago than warn_after.", ("database",))
IDLE = Family(
    "idle_in_transaction_sessions", "Clients' sessions that are idle in a transaction, however briefly.", ("database",)
)
LONGEST = Family(
    "longest_transaction_seconds", "How long the longest transaction of a client has lasted; 0 without.", ("database",)
)
BLOCKED = Family(
    "blocked_sessions",
    "Sessions that wait for a lock on the job table, or for another one while they hold locks on it.",
    ("database", "job_table"),
)


class Transactions:
    """The probe. It has nothing to say where the role does not see other sessions, or some do not tell what they do."""

    name = "transactions"
    every_seconds = 0.0
    families = (LONG, IDLE, LONGEST, BLOCKED)

    def collect(self, connection: Connection, memory: DatabaseMemory) -> Iterable[Sample]:
        """Look at the sessions, and at the locks only where somebody waits; leaves the rows in the memory."""
        memory.transactions = memory.blocking = None
        memory.transactions = transactions.read(connection)
        if not memory.transactions.visible:
            return []
        memory.blocking = blocking.read(connection) if memory.transactions.waiting else blocking.Blocking()
        return list(_samples(memory, memory.transactions, memory.blocking))


def _samples(memory: DatabaseMemory, seen: transactions.Transactions, waiting: blocking.Blocking) -> Iterator[Sample]:
    if not seen.hidden:
        yield LONG.sample(len(seen.longer_than(memory.warn_after_seconds)), memory.database)
        yield IDLE.sample(sum(one.idle for one in seen.sessions), memory.database)
        yield LONGEST.sample(max((one.seconds for one in seen.sessions), default=0.0), memory.database)
    for name, tables in memory.tables.items():
        yield BLOCKED.sample(len(waiting.waiting_on(tables)), memory.database, name)
