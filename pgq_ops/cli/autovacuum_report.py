"""Plans and applies for the command: job table by job table, and none keeps the others back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pgq_ops.cli.ending import tell
from pgq_ops.cli.job_tables import bind_tables, with_found_tables
from pgq_ops.cli.setting import session
from pgq_ops.cli.several import united
from pgq_ops.db.connection import WRITE_LIMITS
from pgq_ops.db.failures import driver_errors
from pgq_ops.errors import ActionFailed, DatabaseFailed, DatabaseUnreachable, NotPermitted, PgqOpsError
from pgq_ops.schema import settings
from pgq_ops.stats.observed import Observations
from pgq_ops.tasks.autovacuum.measuring import measure
from pgq_ops.tasks.autovacuum.script import HEAD, script
from pgq_ops.tasks.autovacuum.setting_outcome import SettingFate
from pgq_ops.tasks.autovacuum.tuning import Tune
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.cli.job_tables import Tables
    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.tasks.autovacuum.tune_result import TuneResult


@dataclass(frozen=True, slots=True)
class Tuned:
    """One job table: its plan or what was done, or what kept it from being made; both where it was cut short."""

    name: str
    table: str = ""
    result: TuneResult | None = None
    error: PgqOpsError | None = None

    def as_json(self) -> dict[str, Any]:
        """The table as `--json` shows it; null is what is not known."""
        known = {"leaves": None} if self.result is None else self.result.as_json()
        error = None if self.error is None else str(self.error)
        return {"name": self.name, "table": self.table or None, **known, "error": error}

    def failure(self) -> PgqOpsError | None:
        """Also of leaves that could not be changed; those that are busy are no failure, nor are plans."""
        if self.error is not None or self.result is None or self.result.dry_run:
            return self.error
        for one in self.result.with_fate(SettingFate.NOT_PERMITTED, SettingFate.REFUSED):
            message = f"{self.name}: {one} was not changed: {one.reason}"
            if one.fate is SettingFate.NOT_PERMITTED and not self.result.parameters:
                return NotPermitted(message, one.grant or one.statement)
            return ActionFailed(f"{message}\n  {one.grant or one.statement}")
        return None


@dataclass(frozen=True, slots=True)
class Report:
    """All job tables asked for, in the order of the configuration. `seconds`: how long their churn was measured."""

    tables: tuple[Tuned, ...]
    seconds: float = 0.0
    dry_run: bool = False
    observations: Observations = field(default_factory=Observations)

    @property
    def parameters(self) -> int:
        """How many parameters were changed, or would be."""
        return sum(one.result.parameters for one in self.tables if one.result is not None)

    def failure(self) -> PgqOpsError | None:
        """What the command ends with after telling what was done."""
        return united(error for one in self.tables if (error := one.failure()) is not None)

    def as_json(self) -> dict[str, Any]:
        """The document."""
        mark = {"dry_run": True} if self.dry_run else {}
        return {"job_tables": [one.as_json() | mark for one in self.tables], "measured_seconds": self.seconds}

    def script(self) -> Iterator[str]:
        """The plans as a script for psql, line by line."""
        yield from HEAD.splitlines()
        for one in self.tables:
            if one.result is not None:
                yield from script(one.name, one.result)


def look(
    loaded: LoadedConfig, names: Sequence[str], *, seconds: float, discovering: bool = False, acting: bool = False
) -> Report:
    """Plan for each named job table (all if none), in a session that only reads.

    `discovering`: without a configuration the tables that look like a preset are planned. `acting`: the plan is to be
    applied, so the schema has to be there. Raises UsageError where there is no job table, DatabaseUnreachable,
    NotInstalled and NotPermitted where `acting` is asked for in vain.
    """
    with session(loaded, "plan the storage parameters") as connection:
        if acting:
            settings.require_readable(connection, "autovacuum apply")
        known = with_found_tables(connection, loaded) if discovering else loaded
        tables = bind_tables(connection, known, names)
        if seconds and tables.bound:
            tell(f"watching for {format_duration(seconds)} how fast rows die (--measure 0s: do without)")
        watched = [bound.table for bound in tables.bound.values()]
        observations = measure(connection, watched, seconds)
        task = _task(known, observations)
        return Report(tuple(_each(task, connection, tables, dry_run=True)), seconds, True, observations)  # noqa: FBT003


def apply_tables(loaded: LoadedConfig, names: Sequence[str], planned: Report) -> Report:
    """Apply, by what was observed for the plan. What goes wrong with one table is in the report.

    Raises as `look` does where nothing was done yet.
    """
    task = _task(loaded, planned.observations)
    with session(loaded, "set storage parameters", changes=True, limits=WRITE_LIMITS) as connection:
        tables = bind_tables(connection, loaded, names)
        return Report(tuple(_each(task, connection, tables, dry_run=False)), planned.seconds)


def _task(loaded: LoadedConfig, observations: Observations) -> Tune:
    tables, owner_role = loaded.config.job_tables, loaded.config.database.owner_role
    return Tune(lambda name: tables[name].autovacuum, observations, lambda: owner_role, apply=True)


def _each(task: Tune, connection: Connection, tables: Tables, *, dry_run: bool) -> Iterator[Tuned]:
    for name, found in tables.found.items():
        if isinstance(found, PgqOpsError):
            yield Tuned(name, error=found)
        else:
            yield _tuned(task, connection, found.table, dry_run=dry_run)


def _tuned(task: Tune, connection: Connection, table: JobTable, *, dry_run: bool) -> Tuned:
    """One table. Raises what keeps the next one from being begun too: a lost connection, while nothing was done."""
    doing = "plan" if dry_run else "set"
    try:
        with driver_errors(f"{doing} the storage parameters of {table.name}"):
            if dry_run:
                return Tuned(table.name, str(table), task.plan(connection, table))
            return Tuned(table.name, str(table), task.run(connection, table, lambda: True))
    except PgqOpsError as error:
        done = task.done.get(table.name)
        if any(one.parameters for one in task.done.values()):
            stopped = ActionFailed(f"{table.name}: stopped part way: {error}")
            return Tuned(table.name, str(table), done, stopped)
        if isinstance(error, DatabaseUnreachable):
            raise
        failed = ActionFailed(str(error)) if isinstance(error, DatabaseFailed) and not dry_run else error
        return Tuned(table.name, str(table), error=failed)
