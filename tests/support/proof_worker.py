"""A worker of the proof: a session of its own, a clock of its own, and the job it believes to hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psycopg import errors
from psycopg.pq import TransactionStatus

from tests.support import proof_ground as ground_
from tests.support.proof_clock import BEGINNING

if TYPE_CHECKING:
    import psycopg

    from tests.support.proof_model import Model
    from tests.support.proof_stage import Row, Stage

APPLIED, NOTHING, BLOCKED = "applied", "nothing", "blocked"


@dataclass(slots=True)
class Worker:
    """`claim` is the job and the version that it was given; it keeps both, however late it returns.

    `offset` is how many seconds its clock is ahead of the database's: its leases are computed by it. `open` is the job
    that its open transaction has changed.
    """

    name: str
    stage: Stage
    connection: psycopg.Connection[Any]
    offset: float = 0
    claim: tuple[int, int] | None = None
    open: int | None = None
    opened_by: str = ""

    def take(self, *, leave_open: bool) -> tuple[int, int] | None:
        """Claim the next due job by the article's statement; the job and its claim's version."""
        ground = self.stage.ground
        values = {"worker": self.name, "lease_seconds": ground_.LEASE_SECONDS + self.offset, "offset": self.offset}
        self._begin(leave_open=leave_open)
        row = self.connection.execute(ground.claim.encode(), values).fetchone()
        if row is None:
            self.end(commit=False)
            return None
        # started-at: what was returned last is the number of the attempt, the nearest to a version that it has.
        return (row[0], row[1]) if ground.fenced else (row[0], row[3])

    def change(self, what: str, model: Model, *, leave_open: bool) -> str:
        """Heartbeat, complete or fail the job it believes to hold: applied, nothing, or blocked by somebody's lock."""
        assert self.claim is not None
        job, version = self.claim
        values = {
            "job": job,
            "version": version,
            "lease_seconds": ground_.LEASE_SECONDS + self.offset,
            "counted": self.stage.ground.counted,
            "beginning": BEGINNING,
            "retry_at": retry_at(model),
        }
        self._begin(leave_open=leave_open)
        try:
            changed = self.connection.execute(getattr(self.stage.ground, what).encode(), values).rowcount
        except errors.LockNotAvailable:
            self.end(commit=False)
            return BLOCKED
        assert changed in (0, 1), f"{changed} rows have changed for one job"
        if not changed:
            self.end(commit=False)
        return APPLIED if changed else NOTHING

    def end(self, *, commit: bool) -> None:
        """End the open transaction, if there is one."""
        if self.connection.info.transaction_status != TransactionStatus.IDLE:
            self.connection.execute("COMMIT" if commit else "ROLLBACK")
        self.open, self.opened_by = None, ""

    def die(self) -> None:
        """As by kill -9: the session is gone with its transaction, and a new process knows of nothing."""
        self.stage.terminate(self.connection)
        self.connection.close()
        self.connection = self.stage.session()
        self.claim, self.open, self.opened_by = None, None, ""

    def _begin(self, *, leave_open: bool) -> None:
        if leave_open:
            self.connection.execute("BEGIN")


def retry_at(model: Model) -> float:
    """When a job that failed may be tried again, as the workers set it."""
    return model.at_the_latest(model.clock.seconds + ground_.FAILED_DELAY_SECONDS)


def claimed(model: Model, worker: Worker, job: int) -> Row:
    """The row as a claim by the worker leaves it."""
    ground, row = model.ground, model.jobs[job]
    lease = model.clock.seconds + worker.offset + (0 if ground.lease_seconds else ground_.LEASE_SECONDS)
    changed = {"status": "running", ground.lease: lease, "attempts": row["attempts"] + (not ground.counted)}
    if ground.fenced:
        changed |= {"claimed_by": worker.name, "claim_version": row["claim_version"] + 1}
    return row | changed


def changed(model: Model, worker: Worker, what: str, row: Row) -> Row:
    """The row as the worker's heartbeat, completion or failure leaves it."""
    ground = model.ground
    if what == "heartbeat":
        return row | {ground.lease: model.clock.seconds + worker.offset + ground_.LEASE_SECONDS}
    if what == "complete":
        return row | {"status": "done"} | ({"lease_until": None} if ground.fenced else {})
    attempts = row["attempts"] + ground.counted
    failed = row | {"attempts": attempts, ground.lease: None} | ({"claimed_by": None} if ground.fenced else {})
    if attempts >= ground_.CAP:
        return failed | {"status": ground.dead}
    return failed | {"status": "pending", ground.available: retry_at(model)}
