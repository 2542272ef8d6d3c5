"""A worker of a `FOR UPDATE SKIP LOCKED` job table: atomic claim, heartbeat, fenced completion.

It knows nothing of pgq-ops. If it dies, its job stays `running` until somebody takes the expired
lease back; if it merely sleeps through its lease, the version keeps its late completion out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pgq_ops.demo.heartbeat import Heartbeat
from pgq_ops.demo.statements import statement

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    import psycopg


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to run a job: `version` tells this claim from every other one of the same job."""

    job: int
    version: int
    payload: dict[str, Any]


class Record(Protocol):
    """Called in the transaction of a claim ("claimed") and of its completion ("completed" or "refused")."""

    def __call__(self, connection: psycopg.Connection[Any], event: str, claim: Claim) -> None:
        """Write down what happened."""
        ...


class Worker:
    """Runs jobs one at a time, each under a lease that a heartbeat extends well before it ends.

    `connection` is in autocommit mode; the heartbeat opens its own with `dsn`.
    """

    def __init__(
        self, name: str, dsn: str, connection: psycopg.Connection[Any], lease: timedelta, record: Record
    ) -> None:
        self.name = name
        self.dsn = dsn
        self.lease = lease
        self.record = record
        self.connection = connection

    def run_next(self, work: Callable[[Claim], None]) -> bool:
        """Claim a job, do its work, complete it; False if there was none to claim."""
        claim = self.claim()
        if claim is None:
            return False
        with Heartbeat(self.dsn, claim.job, claim.version, self.lease):
            work(claim)
        self.complete(claim)
        return True

    def claim(self) -> Claim | None:
        """Take the next job that is due."""
        with self.connection.transaction():
            row = self.connection.execute(
                statement("claim"), {"worker": self.name, "lease_seconds": self.lease.total_seconds()}
            ).fetchone()
            if row is None:
                return None
            claim = Claim(*row)
            self.record(self.connection, "claimed", claim)
        return claim

    def complete(self, claim: Claim) -> bool:
        """Mark the job done; False if the claim had been taken away meanwhile: then nothing was changed."""
        with self.connection.transaction():
            changed = self.connection.execute(
                statement("complete"), {"job": claim.job, "version": claim.version}
            ).rowcount
            self.record(self.connection, "completed" if changed else "refused", claim)
        return bool(changed)
