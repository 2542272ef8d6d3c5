"""What `pgq-ops config check` finds: the file on its own, then each job table against the catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pgq_ops.binding.access import require_reapable
from pgq_ops.cli.job_tables import bind_each
from pgq_ops.cli.setting import load_config, session
from pgq_ops.cli.several import united
from pgq_ops.errors import ConfigError, DatabaseUnreachable, NotPermitted, PgqOpsError, Problem, UsageError
from pgq_ops.job_table.changes import written_columns
from pgq_ops.logs import masked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pgq_ops.binding.bind import Bound
    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.db.connection import Connection


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """One job table: its `table` as bound or, where that failed, as configured; what was noticed; what is wrong."""

    name: str
    table: str
    preset: str | None
    notes: tuple[str, ...] = ()
    error: ConfigError | NotPermitted | None = None
    bound: bool = False

    def as_json(self) -> dict[str, Any]:
        """The table as `--json` shows it."""
        return {
            "name": self.name,
            "table": self.table,
            "preset": self.preset,
            "notes": list(self.notes),
            "problems": [] if self.error is None else problems_of(self.error, f"job_tables.{self.name}"),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a check; `error` is what the command ends with, None where all is well.

    `looked` is false if the database was not asked.
    """

    path: Path | None
    notes: tuple[str, ...] = ()
    tables: tuple[CheckedTable, ...] = ()
    looked: bool = False
    error: PgqOpsError | None = None

    @property
    def valid(self) -> bool:
        """Whether nothing wrong was found; what could not be looked at is not wrong."""
        return self.error is None or self.error.exit_code == DatabaseUnreachable.exit_code

    def lines(self) -> Iterator[str]:
        """The report for people; what is wrong is in `error`."""
        if isinstance(self.error, ConfigError | UsageError) and not self.tables:
            return
        yield f"{self.path or 'no file'}: {'valid' if self.valid else 'read'}"
        for note in self.notes:
            yield f"  note: {note}"
        if not self.tables and self.error is None:
            yield "no job table is configured"
        for table in self.tables:
            preset = f" (preset {table.preset})" if table.preset else ""
            yield f"{table.name}: {table.table} {self._state(table)}{preset}"
            for note in table.notes:
                yield f"  note: {note}"

    def _state(self, table: CheckedTable) -> str:
        if table.bound and table.error is not None:
            return "bound, but cannot be reaped"
        if table.error is not None:
            return "wrong" if isinstance(table.error, ConfigError) else "cannot be looked at"
        return "bound" if self.looked else "not looked at"

    def as_json(self) -> dict[str, Any]:
        """The report as `--json` shows it."""
        return {
            "path": None if self.path is None else str(self.path),
            "valid": self.valid,
            "database_checked": self.looked,
            "notes": list(self.notes),
            "job_tables": [table.as_json() for table in self.tables],
            "problems": self.problems(),
        }

    def problems(self) -> list[dict[str, str]]:
        """Everything that is wrong, the job tables' own included."""
        of_tables = [problem for table in self.tables for problem in table.as_json()["problems"]]
        if of_tables or self.error is None:
            return of_tables
        if self.valid:
            what, hint = masked(str(self.error)), "pgq-ops config check --offline checks the configuration alone"
            return [{"key": "database", "what": what, "hint": hint, "where": str(self.path or "environment")}]
        return problems_of(self.error, "job_tables")


def problems_of(error: PgqOpsError, key: str) -> list[dict[str, str]]:
    """What is wrong, as JSON shows it; `key` is what an error is about that is none of the configuration's."""
    what, _, hint = str(error).partition("\n")
    problems = error.problems if isinstance(error, ConfigError) else (Problem(key, what, hint.strip()),)
    parts = ({"key": one.key, "what": one.what, "hint": one.hint, "where": one.where} for one in problems)
    return [{key: masked(text) for key, text in part.items()} for part in parts]


def checked(path: Path | None, *, offline: bool) -> Report:
    """Check the configuration. Raises nothing that is wrong with it: that is the report's `error`."""
    try:
        loaded = load_config(path)
    except ConfigError as error:
        return Report(path, error=error)
    if loaded.path is None and not loaded.config.job_tables:
        return Report(None, error=UsageError(f"there is nothing to check: {loaded.no_job_table}"))
    configured = tuple(
        CheckedTable(name, masked(one.table), one.preset) for name, one in loaded.config.job_tables.items()
    )
    if offline:
        return Report(loaded.path, loaded.notes, configured)
    try:
        with session(loaded, "check the job tables") as connection:
            tables = tuple(_table(connection, loaded, name, found) for name, found in bind_each(connection, loaded))
    except PgqOpsError as error:
        return Report(loaded.path, loaded.notes, configured, error=error)
    failure = united(table.error for table in tables if table.error is not None)
    return Report(loaded.path, loaded.notes, tables, looked=True, error=failure)


def _table(
    connection: Connection, loaded: LoadedConfig, name: str, found: Bound | ConfigError | NotPermitted
) -> CheckedTable:
    configured = loaded.config.job_tables[name]
    if isinstance(found, ConfigError | NotPermitted):
        return CheckedTable(name, masked(configured.table), configured.preset, error=found)
    reaped = loaded.config.agent.mode == "manage" and "reaper" in configured.requested_tasks
    error = _hindrance(connection, found) if reaped else None
    return CheckedTable(name, str(found.table), configured.preset, found.notes, error, bound=True)


def _hindrance(connection: Connection, found: Bound) -> ConfigError | NotPermitted | None:
    """What keeps the agent's reaper from acting: what it must not do to other tables, or what the role may not do."""
    if found.refused:
        return ConfigError(found.refused)
    try:
        require_reapable(connection, found.table, written_columns(found.table))
    except NotPermitted as error:
        return error
    return None
