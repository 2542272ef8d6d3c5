"""Retries or purges dead letters for a command: job table by job table, and none keeps the others back."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from pgq_ops.cli.confirmation import confirm, require_answer
from pgq_ops.cli.job_tables import bind_tables
from pgq_ops.cli.printing import print_json, print_line
from pgq_ops.cli.setting import session
from pgq_ops.cli.several import united
from pgq_ops.db.connection import WRITE_LIMITS
from pgq_ops.db.failures import driver_errors, is_busy
from pgq_ops.demo.interruption import Interruption
from pgq_ops.errors import ActionFailed, DatabaseFailed, DatabaseUnreachable, PgqOpsError
from pgq_ops.tasks.dead_cascades import require_allowed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.cascade import Cascade
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.tasks.dead_tally import DeadCounts
    from pgq_ops.tasks.task import Guard


class DeadResult(Protocol):
    """What a retry and a purge tell alike."""

    @property
    def counts(self) -> DeadCounts:
        """Dead letters by what became of them."""
        ...

    @property
    def cascades(self) -> tuple[Cascade, ...]:
        """The foreign keys through which other tables change."""
        ...

    def as_done(self) -> Self:
        """A plan with nothing in it as a run that found nothing."""
        ...

    def as_json(self) -> dict[str, Any]:
        """Plain values; null is what is not known."""
        ...


R = TypeVar("R", bound=DeadResult)


class DeadTask(Protocol[R]):
    """DeadRetry and DeadPurge."""

    cascade: bool
    done: dict[str, R]

    @property
    def doing(self) -> str:
        """What is done, as a message says it: could not ... ."""
        ...

    def nothing(self, *, busy: tuple[str, ...] = ()) -> R:
        """A result with nothing in it, or with tables that were locked."""
        ...

    def plan(self, connection: Connection, table: JobTable) -> R:
        """What `run` would do; reads only."""
        ...

    def run(self, connection: Connection, table: JobTable, guard: Guard) -> R:
        """Act once."""
        ...


@dataclass(frozen=True, slots=True)
class Acted(Generic[R]):
    """One job table: what was done, or what kept it from being done; both where it was cut short."""

    name: str
    result: R | None = None
    error: PgqOpsError | None = None

    @property
    def changed(self) -> int:
        """How many dead letters were changed, or would be."""
        return 0 if self.result is None else self.result.counts.jobs


@dataclass(slots=True)
class _Acting(Generic[R]):
    task: DeadTask[R]
    loaded: LoadedConfig
    names: Sequence[str]

    def tables(self, *, dry_run: bool) -> list[Acted[R]]:
        """Plan or act on each; raises UsageError, DatabaseUnreachable and KeyboardInterrupt where nothing was done."""
        acted: list[Acted[R]] = []
        interruption = Interruption()
        with (
            session(self.loaded, self.task.doing, changes=not dry_run, limits=WRITE_LIMITS) as connection,
            nullcontext() if dry_run else interruption,
        ):
            stopped = False
            for name, found in bind_tables(connection, self.loaded, self.names).found.items():
                if isinstance(found, PgqOpsError):
                    acted.append(self._locked(name) if _is_locked(found) else Acted(name, error=found))
                    continue
                if stopped or interruption.requested:
                    acted.append(Acted(name, error=ActionFailed(f"{name}: not begun")))
                    continue
                try:
                    one = self._table(connection, found.table, interruption, dry_run=dry_run)
                except (Exception, KeyboardInterrupt) as error:
                    result = None if dry_run else self.task.done.get(name)
                    one = Acted(name, result, ActionFailed(f"stopped part way: {str(error) or 'interrupted'}"))
                    if not any(table.changed for table in (*acted, one)):
                        raise
                    stopped = True
                acted.append(one)
        return acted

    def _table(self, connection: Connection, table: JobTable, interruption: Interruption, *, dry_run: bool) -> Acted[R]:
        """One table. Raises what keeps the next one from being begun too: a lost connection, a defect."""
        ended_early = False

        def guard() -> bool:
            nonlocal ended_early
            ended_early = interruption.requested
            return not ended_early

        try:
            with driver_errors(f"{self.task.doing} of {table.name}"):
                if dry_run:
                    return Acted(table.name, self.task.plan(connection, table))
                result = self.task.run(connection, table, guard)
        except DatabaseUnreachable:
            raise
        except PgqOpsError as error:
            done = None if dry_run else self.task.done.get(table.name)
            if done is not None and done.counts.jobs:
                return Acted(table.name, done, ActionFailed(f"stopped part way: {error}"))
            if _is_locked(error):
                return self._locked(table.name)
            failed = ActionFailed(str(error)) if isinstance(error, DatabaseFailed) and not dry_run else error
            return Acted(table.name, error=failed)
        early = ActionFailed("stopped part way: interrupted; what is told is done, the rest is as it was")
        return Acted(table.name, result, early if ended_early else None)

    def _locked(self, name: str) -> Acted[R]:
        """A table that somebody has locked so that it cannot even be read: no failure, as with any other lock."""
        return Acted(name, self.task.nothing(busy=(self.loaded.config.job_tables[name].table,)))


def _is_locked(error: PgqOpsError) -> bool:
    """Whether nothing but a lock stood in the way."""
    return error.__cause__ is not None and is_busy(error.__cause__)


def act(
    task: DeadTask[R],
    loaded: LoadedConfig,
    names: Sequence[str],
    *,
    dry_run: bool,
    yes: bool,
    json: bool,
    lines: Callable[[str, R], Iterator[str]],
    question: Callable[[Sequence[tuple[str, R]]], str],
) -> None:
    """Plan, ask, act and tell, in that order; with `yes` without asking, with `dry_run` only the plan.

    Raises the errors that the command ends with, after telling what was done.
    """
    if not dry_run:
        require_answer(yes=yes)
    acting = _Acting(task, loaded, names)
    tables = acting.tables(dry_run=dry_run or not yes)
    planned = [(one.name, one.result) for one in tables if one.result is not None and one.changed]
    if not dry_run and not yes:
        if planned:
            for _, result in planned:
                require_allowed(result.cascades, allowed=task.cascade)
            confirm(question(planned), yes=False)
            tables = acting.tables(dry_run=False)
        else:
            tables = [replace(one, result=one.result and one.result.as_done()) for one in tables]
    if json:
        print_json({"job_tables": [_as_json(one, task, dry_run=dry_run) for one in tables]})
    else:
        for one in tables:
            if one.result is not None:
                for line in lines(one.name, one.result):
                    print_line(line)
    failure = united(one.error for one in tables if one.error is not None)
    if failure is not None:
        raise failure


def _as_json(one: Acted[R], task: DeadTask[R], *, dry_run: bool) -> dict[str, Any]:
    numbers = dict.fromkeys(task.nothing().as_json()) if one.result is None else one.result.as_json()
    mark = {"dry_run": True} if dry_run else {}
    return {"name": one.name, **numbers, **mark, "error": None if one.error is None else str(one.error)}
