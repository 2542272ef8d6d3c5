"""What `transactions list` shows: the open transactions, what each waits for, and who waits behind it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pgq_ops.cli.setting import session
from pgq_ops.stats import blocking, horizon, transactions
from pgq_ops.stats.blocking import PREPARED
from pgq_ops.tasks.end_session import granting

if TYPE_CHECKING:
    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.stats.blocking import Blocker, Blocking, Waiter
    from pgq_ops.stats.horizon import Holder
    from pgq_ops.stats.transactions import Transaction, Transactions


@dataclass(frozen=True, slots=True)
class Report:
    """One look at the sessions of `database`, and its `prepared` transactions, the oldest first, made by `role`."""

    database: str
    role: str
    seen: Transactions
    blocking: Blocking
    prepared: tuple[Holder, ...] = ()

    def blocked_by(self, transaction: Transaction) -> tuple[Waiter, ...]:
        """Who waits for it, directly or as one of several."""
        return tuple(one for one in self.blocking.waiters if transaction.pid in one.blocked_by)

    def wait_of(self, transaction: Transaction) -> Waiter | None:
        """What its session waits for, if it does."""
        return next((one for one in self.blocking.waiters if one.pid == transaction.pid), None)

    def blocked_by_prepared(self, prepared: Holder) -> tuple[Waiter, ...]:
        """Who waits for it, by the tables that both have to do with: PostgreSQL does not say for which one it is."""
        tables = [one.tables for one in self.blocking.blockers if _is(one, prepared)]
        return tuple(
            one
            for one in self.blocking.waiters
            if PREPARED in one.blocked_by and any(one.tables & locked for locked in tables)
        )

    @property
    def grant(self) -> str:
        """What lets the role see other sessions; empty where it does."""
        return "" if self.seen.visible else granting("pg_monitor", self.role)

    def as_json(self, *, queries: bool) -> dict[str, Any]:
        """The document of `--json`; statements only with `queries`."""
        return {
            "database": self.database,
            "visible": self.seen.visible,
            "hidden_sessions": self.seen.hidden,
            "transactions": [self._one(one, queries=queries) for one in self.seen.sessions],
            "prepared": [self._prepared(one) for one in self.prepared],
        }

    def _prepared(self, one: Holder) -> dict[str, Any]:
        return {
            "gid": one.name,
            "user": one.user,
            "seconds": one.seconds,
            "xid_age": one.xid_age,
            "blocks": [waiter.pid for waiter in self.blocked_by_prepared(one)],
            "remedy": one.remedy,
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
            "waits": _waits(self.wait_of(one)),
            "remedy": one.remedy,
            **({"query": one.query} if queries else {}),
        }


def look(loaded: LoadedConfig) -> Report:
    """Look once. Raises DatabaseUnreachable, NotPermitted, DatabaseFailed."""
    with session(loaded, "read the sessions") as connection:
        seen = transactions.read(connection)
        waiting = blocking.read(connection) if seen.waiting else blocking.Blocking()
        prepared = tuple(one for one in horizon.read(connection).holders if one.kind == "prepared" and not one.database)
        return Report(connection.info.dbname, connection.info.user, seen, waiting, prepared)


def _is(blocker: Blocker, prepared: Holder) -> bool:
    return blocker.pid == PREPARED and blocker.application_name == prepared.name


def _waits(wait: Waiter | None) -> dict[str, Any] | None:
    if wait is None:
        return None
    behind = list(wait.blocked_by)
    return {"seconds": wait.seconds, "for": wait.what, "mode": wait.mode, "behind": behind}


def _iso(epoch: str) -> str:
    """Epoch seconds as ISO 8601 in UTC, to the microsecond."""
    whole, _, fraction = str(Decimal(epoch)).partition(".")
    moment = datetime.fromtimestamp(int(whole), UTC).replace(microsecond=int(fraction.ljust(6, "0")[:6]))
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
