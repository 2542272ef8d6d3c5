"""What `pgq-ops config check` finds: the file on its own, then each job table against the catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pgq_ops.cli.setting import bind_each, load_config, session
from pgq_ops.errors import ConfigError, NotPermitted, PgqOpsError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pgq_ops.binding.bind import Bound
    from pgq_ops.config.load import LoadedConfig


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """One job table: its `table` as bound or, where that failed, as configured; what was noticed; what is wrong."""

    name: str
    table: str
    preset: str | None
    notes: tuple[str, ...] = ()
    error: ConfigError | NotPermitted | None = None

    def as_json(self) -> dict[str, Any]:
        """The table as `--json` shows it."""
        return {
            "name": self.name,
            "table": self.table,
            "preset": self.preset,
            "notes": list(self.notes),
            "problems": [] if self.error is None else problems_of(self.error),
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

    def lines(self) -> Iterator[str]:
        """The report for people; what is wrong is in `error`."""
        if isinstance(self.error, ConfigError) and not self.tables:
            return
        yield f"{self.path or 'no file'}: valid"
        for note in self.notes:
            yield f"  note: {note}"
        if not self.tables and self.error is None:
            yield "no job table is configured"
        for table in self.tables:
            preset = f" (preset {table.preset})" if table.preset else ""
            bound = "bound" if self.looked else "not looked at"
            yield f"{table.name}: {table.table} {'wrong' if table.error else bound}{preset}"
            for note in table.notes:
                yield f"  note: {note}"

    def as_json(self) -> dict[str, Any]:
        """The report as `--json` shows it."""
        return {
            "path": None if self.path is None else str(self.path),
            "valid": self.error is None,
            "database_checked": self.looked,
            "notes": list(self.notes),
            "job_tables": [table.as_json() for table in self.tables],
            "problems": [] if self.error is None else problems_of(self.error),
        }


def problems_of(error: PgqOpsError) -> list[dict[str, str]]:
    """What is wrong, as JSON shows it."""
    problems = error.problems if isinstance(error, ConfigError) else (Problem("", str(error)),)
    return [{"key": one.key, "what": one.what, "hint": one.hint, "where": one.where} for one in problems]


def checked(path: Path | None, *, offline: bool) -> Report:
    """Check the configuration. Raises nothing that is wrong with it: that is the report's `error`."""
    try:
        loaded = load_config(path)
    except ConfigError as error:
        return Report(path, error=error)
    if offline:
        tables = tuple(CheckedTable(name, one.table, one.preset) for name, one in loaded.config.job_tables.items())
        return Report(loaded.path, loaded.notes, tables)
    try:
        with session(loaded.config, "check the job tables") as connection:
            tables = tuple(_table(loaded, name, found) for name, found in bind_each(connection, loaded))
    except PgqOpsError as error:
        return Report(loaded.path, loaded.notes, error=error)
    return Report(loaded.path, loaded.notes, tables, looked=True, error=_first_error(tables))


def _table(loaded: LoadedConfig, name: str, found: Bound | ConfigError | NotPermitted) -> CheckedTable:
    configured = loaded.config.job_tables[name]
    if isinstance(found, ConfigError | NotPermitted):
        return CheckedTable(name, configured.table, configured.preset, error=found)
    return CheckedTable(name, str(found.table), configured.preset, found.notes)


def _first_error(tables: tuple[CheckedTable, ...]) -> PgqOpsError | None:
    """All problems of all tables, else the first right that is missing."""
    problems = [one for table in tables if isinstance(table.error, ConfigError) for one in table.error.problems]
    if problems:
        return ConfigError(tuple(problems))
    return next((table.error for table in tables if table.error is not None), None)
