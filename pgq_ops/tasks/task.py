"""The contract between a task and whoever runs it: the agent's scheduler, or a command."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable


class Outcome(StrEnum):
    """How a run of a task ended, as `pgqops_task_runs_total` counts it."""

    OK = "ok"
    NOTHING = "nothing"
    BUSY = "busy"
    FAILED = "failed"


class Guard(Protocol):
    """Asked before each batch: may another one begin? False once leadership, time or the process ends."""

    def __call__(self) -> bool:
        """Whether the next batch may begin."""
        ...


class Result(Protocol):
    """What one run did. One that has `again_seconds` too tells when to run next (None: at the usual time)."""

    @property
    def outcome(self) -> Outcome:
        """`ok` if something changed, `nothing`, `busy` if only locks stood in the way."""
        ...

    @property
    def message(self) -> str:
        """What `inspect` should say of the run beside its outcome, in a few words; empty if nothing."""
        ...

    def as_json(self) -> dict[str, Any]:
        """The run as the command's `--json` shows it, without the job table's name."""
        ...


class Task(Protocol):
    """One kind of change to one job table."""

    @property
    def name(self) -> str:
        """The task's name in metrics, logs and `pgq_ops.task`; also the config section that asks for it."""
        ...

    def plan(self, connection: Connection, table: JobTable) -> Result:
        """What `run` would do now; reads only."""
        ...

    def run(self, connection: Connection, table: JobTable, guard: Guard) -> Result:
        """Act once, in bounded batches, asking `guard` before each."""
        ...


@runtime_checkable
class MayRest(Protocol):
    """A task that often knows, without the database, that there is nothing for it to do."""

    def rest(self, table: JobTable) -> Result | None:
        """The result of a run that needs no connection; None where `run` is to be called."""
        ...
