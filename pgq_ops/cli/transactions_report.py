"""What `transactions list` shows: the open transactions, and who waits behind each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pgq_ops.cli.setting import session
from pgq_ops.stats import blocking, transactions
from pgq_ops.tasks.end_session import granting

if TYPE_CHECKING:
    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.stats.blocking import Blocking, Waiter
    from pgq_ops.stats.transactions import Transaction, Transactions


@dataclass(frozen=True, slots=True)
class Report:
    """One look at the sessions of `database`, made by `role`."""

    database: str
    role: str
    seen: Transactions
    blocking: Blocking

    def blocked_by(self, transaction: Transaction) -> tuple[Waiter, ...]:
        """Who waits for it, directly or as one of several."""
        return tuple(one for one in self.blocking.waiters if transaction.pid in one.blocked_by)

    @property
    def grant(self) -> str:
        """What lets the role see other sessions; empty where it does."""
        return "" if self.seen.visible else granting("pg_monitor", self.role)

    def as_json(self, *, queries: bool) -> dict[str, Any]:
        """The document of `--json`; statements only with `queries`."""
        return {
            "database": self.database,
            "visible": self.seen.visible,
            "transactions": [self._one(one, queries=queries) for one in self.seen.sessions],
        }

    def _one(self, one: Transaction, *, queries: bool) -> dict[str, Any]:
        return {
            "session": one.session,
            "pid": one.pid,
            "started_at": _iso(one.started),
            "application_name": one.application_name,
            "user": one.user,
            "client": one.client,
            "state": one.state,
            "seconds": one.seconds,
            "idle_seconds": one.idle_seconds,
            "xid_age": one.xid_age,
            "holds_vacuum": one.holds_vacuum,
            "superuser": one.superuser,
            "blocks": [waiter.pid for waiter in self.blocked_by(one)],
            "remedy": one.remedy,
            **({"query": one.query} if queries else {}),
        }


def look(loaded: LoadedConfig) -> Report:
    """Look once. Raises DatabaseUnreachable, NotPermitted, DatabaseFailed."""
    with session(loaded, "read the sessions") as connection:
        seen = transactions.read(connection)
        waiting = blocking.read(connection) if seen.waiting else blocking.Blocking()
        return Report(connection.info.dbname, connection.info.user, seen, waiting)


def _iso(epoch: str) -> str:
    """Epoch seconds as ISO 8601 in UTC, to the microsecond."""
    whole, _, fraction = str(Decimal(epoch)).partition(".")
    moment = datetime.fromtimestamp(int(whole), UTC).replace(microsecond=int(fraction.ljust(6, "0")[:6]))
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
