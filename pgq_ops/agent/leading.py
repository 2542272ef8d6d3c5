"""The leader's tick: keeps the connection, binds the job tables, takes and proves leadership, and tells of changes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops import logs, metrics
from pgq_ops.errors import ConfigError, DatabaseUnreachable, PgqOpsError
from pgq_ops.leader.pooler import SharedServerProcess

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.agent.bindings import Bindings
    from pgq_ops.db.session import Session
    from pgq_ops.leader.leadership import Leadership

_LEADER = metrics.gauge(
    "leader", "Whether this agent leads the job table: it alone acts on it and exports it.", ("database", "job_table")
)

log = logs.get("leader")


@dataclass(slots=True)
class Leading:
    """Leads what can be led. For the leader's thread.

    `database` is the name that the metrics carry: until the first connection the one that is expected.
    `changed` is called with what was gained and what was lost, after each tick in which something was.
    """

    session: Session
    leadership: Leadership
    bindings: Bindings
    database: str
    changed: Callable[[frozenset[str], frozenset[str]], None]
    reached: bool = False
    _trouble: str = ""
    _led: frozenset[str] = frozenset()
    _exported: set[tuple[str, str]] = field(default_factory=set)

    def tick(self) -> None:
        """Look once. Raises ConfigError if nothing of the configuration fits the database."""
        self.publish()  # a task may have lost the connection since, and the next one may lead again at once
        try:
            connection = self.leadership.prove()
            self.database = connection.info.dbname
            self.bindings.refresh(connection)
            tables = self.bindings.tables()
            self.leadership.take({name: table.relation.oid for name, table in tables.items()})
        except ConfigError:
            raise
        except PgqOpsError as error:
            if isinstance(error, DatabaseUnreachable):
                self.session.discard()
            self.reached = False
            self._tell_trouble(error)
        else:
            self.reached = True
            self._tell_trouble(None)
        self.publish()

    def publish(self) -> None:
        """Export who leads, and tell of what has changed since the last time."""
        led = self.leadership.led()
        gained, lost = led - self._led, self._led - led
        self._led = led
        self._export(led)
        for name in sorted(gained):
            log.info("leader.gained", job_table=name)
        for name in sorted(lost):
            log.info("leader.lost", job_table=name)
        if gained or lost:
            self.changed(gained, lost)

    def withdraw(self) -> None:
        """Export nothing more."""
        self._only(set())

    def _export(self, led: frozenset[str]) -> None:
        names = self.bindings.names()
        self._only({(self.database, name) for name in names})
        for name in names:
            _LEADER.labels(self.database, name).set(name in led)

    def _only(self, series: set[tuple[str, str]]) -> None:
        for labels in self._exported - series:
            with suppress(KeyError):
                _LEADER.remove(*labels)
        self._exported = series

    def _tell_trouble(self, error: PgqOpsError | None) -> None:
        """Log what keeps the agent from leading anything: once, until it changes or ends."""
        text = "" if error is None else f"{type(error).__name__}: {error}"
        if text == self._trouble:
            return
        self._trouble = text
        if error is None:
            log.info("database.reached", database=self.database)
        elif isinstance(error, SharedServerProcess):
            log.error("leader.refused", error=error)
        else:
            log.warning("database.not_usable", error=error)
