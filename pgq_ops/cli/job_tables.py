"""The job tables of a command: those of the configuration, each bound to the catalog or with what is wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pgq_ops.binding.bind import Bound, bind
from pgq_ops.binding.discovery import discover
from pgq_ops.config.job_table import JobTableConfig
from pgq_ops.config.load import DEFAULT_FILE
from pgq_ops.config.presets import preset_names
from pgq_ops.config.schema import dotted
from pgq_ops.config.validation import did_you_mean
from pgq_ops.config.writing import job_table_section, toml_text
from pgq_ops.db.failures import driver_errors
from pgq_ops.errors import ConfigError, DatabaseFailed, NotPermitted, PgqOpsError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.db.connection import Connection

# More are not written down for an error.
_MOST_SECTIONS = 5


@dataclass(frozen=True, slots=True)
class Tables:
    """Job tables in the order of the configuration: each as it was bound, or what is wrong with it."""

    found: dict[str, Bound | PgqOpsError]

    @property
    def bound(self) -> dict[str, Bound]:
        """Those that can be worked on."""
        return {name: one for name, one in self.found.items() if isinstance(one, Bound)}

    @property
    def errors(self) -> dict[str, PgqOpsError]:
        """What is wrong with the others."""
        return {name: one for name, one in self.found.items() if not isinstance(one, Bound)}


def with_found_tables(connection: Connection, loaded: LoadedConfig) -> LoadedConfig:
    """The configuration, or where there is no file and no job table in it, the tables that look like a preset.

    For commands that only read. Raises UsageError where there is neither, the driver's errors.
    """
    if loaded.config.job_tables or loaded.path is not None:
        return loaded
    found = discover(connection)
    if not found:
        raise UsageError(
            "there is no configuration file, and no table in this database looks exactly like a preset:"
            " describe yours in pgq-ops.toml (`pgq-ops config check` says whether it fits)"
        )
    origins = {
        dotted(("job_tables", name, "columns", column)): f'preset "{table.preset}"'
        for name, table in found.items()
        for column in table.columns.mapped()
    }
    config = loaded.config.model_copy(update={"job_tables": found})
    return replace(loaded, config=config, origins={**loaded.origins, **origins})


def bind_each(
    connection: Connection, loaded: LoadedConfig, names: Sequence[str] = ()
) -> Iterator[tuple[str, Bound | ConfigError | NotPermitted]]:
    """Bind the named job tables, or all: each as it was bound, or what is wrong with it.

    Raises UsageError for a name that is not in the configuration, DatabaseUnreachable.
    """
    tables = loaded.config.job_tables
    for name in names:
        if name not in tables:
            if not tables:
                raise _nothing_configured(connection, loaded, names)
            known = f"there are {', '.join(tables)}"
            raise UsageError(f'"{name}" is no job table of the configuration: {did_you_mean(name, tables) or known}')
    for name in names or tables:
        try:
            yield name, bind(connection, name, tables[name], loaded.config.database, loaded.preset_columns(name))
        except (ConfigError, NotPermitted) as error:
            yield name, error


def bind_tables(connection: Connection, loaded: LoadedConfig, names: Sequence[str] = ()) -> Tables:
    """Bind the named job tables, or all of them. Raises UsageError where there is none to bind, DatabaseUnreachable."""
    found: dict[str, Bound | PgqOpsError] = {}
    for name in names or loaded.config.job_tables:
        try:
            with driver_errors(f"read the catalog for {name}"):
                found.update(bind_each(connection, loaded, [name]))
        except DatabaseFailed as error:
            found[name] = error
    if not found:
        raise _nothing_configured(connection, loaded, names)
    return Tables(found)


def _nothing_configured(connection: Connection, loaded: LoadedConfig, names: Sequence[str]) -> UsageError:
    """With what to write into a file: the tables that look like a preset's (those named, if any is one), or an example.

    Raises the driver's errors.
    """
    found = discover(connection)
    asked = {name: table for name, table in found.items() if name in names} or found
    sections = [job_table_section(name, table) for name, table in list(asked.items())[:_MOST_SECTIONS]]
    why = "by its columns this is a job table" if len(sections) == 1 else "by their columns these are job tables"
    if not sections:
        first, *others = preset_names()
        sections = [job_table_section("jobs", JobTableConfig(table="public.jobs", preset=first))]
        sections[0] += f"  # or {', '.join(map(toml_text, others))}; below, the columns that differ"
        why = "such as"
    what = f"acting on a table needs a file that describes it, {loaded.path or DEFAULT_FILE}; {why}:"
    return UsageError("\n  ".join([loaded.no_job_table, what, *"\n".join(sections).splitlines()]))
