"""A session beside the leader's, for what takes long: VACUUM, and DDL."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg

from pgq_ops import sql
from pgq_ops.leader.key import lock_key

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.db.session import Session
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.leader.leadership import Leadership, Proof

# From when on nobody needs it, its place on the server is for others.
IDLE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class MaintenanceFooting:
    """Its session holds a lock of its own for the task at hand: of two agents that both believe to lead, one acts.

    The leader's own lock is looked for before each batch, by its server process: a session cannot prove another's.
    """

    session: Session
    leadership: Leadership
    mode: str

    def leads_in(self, table: JobTable) -> str | None:
        """As the Protocol has it."""
        return self.leadership.leads_in(table.name)

    def take(self, table: JobTable) -> Connection | None:
        """The session's connection, made if there is none; None where another session is at the same task."""
        if self.leadership.proof(table.name) is None:
            return None
        try:
            connection, taken = self._lock(table)
        except psycopg.OperationalError:  # the session was lost while it was idle: nothing has begun over it
            self.session.discard()
            connection, taken = self._lock(table)
        if taken and self.may_act(connection, table):
            return connection
        self.give_back(connection, table)
        return None

    def may_act(self, connection: Connection, table: JobTable) -> bool:
        """Whether the server has the leader's session, and its lock, this very moment."""
        proof = self.leadership.proof(table.name)
        return proof is not None and self.session.current is connection and _is_held(connection, proof)

    def discard(self) -> None:
        """As the Protocol has it; the lock goes with it."""
        self.session.discard()

    def give_back(self, connection: Connection, table: JobTable) -> None:
        """Let go of the lock for the task."""
        if not connection.closed:
            with suppress(psycopg.Error):
                connection.execute(sql.statement("leader/unlock"), {"keys": [self._key(table)]})

    def rest(self) -> None:
        """Close the session once nobody has needed it for a while."""
        connection = self.session.current
        if connection is not None and connection.idle_seconds() >= IDLE_SECONDS:
            self.session.close()

    def _lock(self, table: JobTable) -> tuple[Connection, bool]:
        connection = self.session.connection()
        taken = connection.execute(sql.statement("leader/try_locks"), {"keys": [self._key(table)]}).fetchall()
        return connection, bool(taken)

    def _key(self, table: JobTable) -> int:
        return lock_key(table.relation.oid, f"{self.mode}/maintenance")


def _is_held(connection: Connection, proof: Proof) -> bool:
    parameters = {"pid": proof.pid, "key": proof.key}
    [(held,)] = connection.execute(sql.statement("leader/leads"), parameters).fetchall()
    return bool(held)
