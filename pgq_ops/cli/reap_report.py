"""Reaps, or plans to, for the command: job table by job table, and none keeps the others back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pgq_ops.cli.job_tables import bind_tables
from pgq_ops.cli.setting import session
from pgq_ops.cli.several import united
from pgq_ops.db.connection import WRITE_LIMITS
from pgq_ops.db.failures import driver_errors
from pgq_ops.errors import ActionFailed, DatabaseFailed, DatabaseUnreachable, PgqOpsError
from pgq_ops.tasks.reap import Reap
from pgq_ops.tasks.reap_result import ReapResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.binding.bind import Bound
    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class Reaped:
    """One job table: what was done, or what kept it from being done; both where it was cut short.

    `cascades`: the foreign keys by which burying a job changes other tables.
    """

    name: str
    result: ReapResult | None = None
    error: PgqOpsError | None = None
    cascades: tuple[str, ...] = ()

    @property
    def changed(self) -> int:
        """How many jobs were requeued or buried, or would be."""
        return 0 if self.result is None else self.result.requeued + self.result.dead_lettered

    def as_json(self) -> dict[str, Any]:
        """The table as `--json` shows it; null is what is not known."""
        numbers = dict.fromkeys(ReapResult().as_json()) if self.result is None else self.result.as_json()
        error = None if self.error is None else str(self.error)
        return {"name": self.name, **numbers, "cascades": list(self.cascades), "error": error}


@dataclass(frozen=True, slots=True)
class Report:
    """All job tables asked for, in the order of the configuration."""

    tables: tuple[Reaped, ...]
    include_stale: bool = False
    dry_run: bool = False

    @property
    def changed(self) -> int:
        """How many jobs were requeued or buried, or would be."""
        return sum(one.changed for one in self.tables)

    def failure(self) -> PgqOpsError | None:
        """What the command ends with after telling what was done."""
        return united(one.error for one in self.tables if one.error is not None)

    def as_done(self) -> Report:
        """A plan with nothing in it is a pass that found nothing."""
        tables = tuple(
            one if one.result is None else replace(one, result=replace(one.result, dry_run=False))
            for one in self.tables
        )
        return replace(self, tables=tables, dry_run=False)

    def as_json(self) -> dict[str, Any]:
        """The document of design.md §3."""
        mark = {"dry_run": True} if self.dry_run else {}
        return {"job_tables": [one.as_json() | mark for one in self.tables]}


def reap_tables(loaded: LoadedConfig, names: Sequence[str], *, include_stale: bool, dry_run: bool) -> Report:
    """One pass, or one plan, for each named job table (all if none).

    What goes wrong with one table is in the report, as is what was done before the connection was lost. Raises
    UsageError where there is no job table, DatabaseUnreachable and KeyboardInterrupt where nothing was done yet.
    """
    task = Reap(include_stale=include_stale)
    reaped: list[Reaped] = []
    with session(loaded, "reap", changes=not dry_run, limits=WRITE_LIMITS) as connection:
        stopped = False
        for name, found in bind_tables(connection, loaded, names).found.items():
            if isinstance(found, PgqOpsError):
                one = Reaped(name, error=found)
            elif stopped:
                one = Reaped(name, error=ActionFailed(f"{name}: not begun"))
            else:
                try:
                    one = replace(_reaped(task, connection, found.table, dry_run=dry_run), cascades=_cascades(found))
                except (Exception, KeyboardInterrupt) as error:
                    result = None if dry_run else task.done.get(name)
                    one = Reaped(name, result, ActionFailed(f"stopped part way: {str(error) or 'interrupted'}"))
                    if not any(table.changed for table in (*reaped, one)):
                        raise
                    stopped = True
            reaped.append(one)
    return Report(tuple(reaped), include_stale, dry_run)


def _cascades(bound: Bound) -> tuple[str, ...]:
    letters = bound.table.dead_letters
    return () if letters is None else tuple(map(str, letters.cascades))


def _reaped(task: Reap, connection: Connection, table: JobTable, *, dry_run: bool) -> Reaped:
    """One table. Raises what keeps the next one from being begun too: a lost connection, an interruption, a defect."""
    try:
        with driver_errors(f"reap {table.name}"):
            if dry_run:
                return Reaped(table.name, task.plan(connection, table))
            return Reaped(table.name, task.run(connection, table, lambda: True))
    except DatabaseUnreachable:
        raise
    except PgqOpsError as error:
        result = None if dry_run else task.done.get(table.name)
        if result is not None and (result.requeued or result.dead_lettered):
            return Reaped(table.name, result, ActionFailed(f"stopped part way: {error}"))
        failed = ActionFailed(str(error)) if isinstance(error, DatabaseFailed) and not dry_run else error
        return Reaped(table.name, error=failed)
