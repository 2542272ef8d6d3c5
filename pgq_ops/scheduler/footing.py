"""What a task stands on while it acts: the connection, and what entitles it to go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.db.session import Session
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.leader.leadership import Leadership


class Footing(Protocol):
    """For one thread."""

    def leads_in(self, table: JobTable) -> str | None:
        """The name of the database in which this agent leads the job table; None where it does not. Asks nobody."""
        ...

    def take(self, table: JobTable) -> Connection | None:
        """The connection to act over on the job table; None where it is not this agent's to act on.

        Raises the driver's and our own errors where a connection cannot be had.
        """
        ...

    def may_act(self, connection: Connection, table: JobTable) -> bool:
        """Whether another batch may begin over this connection."""
        ...

    def discard(self) -> None:
        """Give up a connection that is lost."""
        ...

    def give_back(self, connection: Connection, table: JobTable) -> None:
        """The run is over; the connection may be of no more use by now."""
        ...


@dataclass(frozen=True, slots=True)
class LeaderFooting:
    """The very connection that holds the job table's leadership, so that the session itself is the proof."""

    session: Session
    leadership: Leadership

    def leads_in(self, table: JobTable) -> str | None:
        """As the Protocol has it."""
        return self.leadership.leads_in(table.name)

    def take(self, table: JobTable) -> Connection | None:
        """As the Protocol has it; it is there already, or there is none."""
        connection = self.leadership.connection()
        return connection if self.leadership.holds(table.name) else None

    def may_act(self, connection: Connection, table: JobTable) -> bool:
        """Whether it is the unbroken one that holds the lock; asks nobody."""
        return self.leadership.holds(table.name) and self.leadership.connection() is connection

    def discard(self) -> None:
        """As the Protocol has it; leadership is lost with it."""
        self.session.discard()

    def give_back(self, connection: Connection, table: JobTable) -> None:
        """Nothing was taken."""
