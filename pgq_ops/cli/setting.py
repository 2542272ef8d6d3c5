"""What most commands begin with: the configuration, a session, the job tables bound to the catalog."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from pgq_ops.binding.bind import Bound, bind
from pgq_ops.binding.discovery import discover
from pgq_ops.config.dsn import secrets_in
from pgq_ops.config.load import load
from pgq_ops.config.schema import dotted
from pgq_ops.config.validation import did_you_mean
from pgq_ops.db.connection import COMMAND_LIMITS, Limits, Purpose, connect
from pgq_ops.db.failures import driver_errors
from pgq_ops.errors import ConfigError, NotPermitted, UsageError
from pgq_ops.leader.pooler import refuse_shared_process
from pgq_ops.logs import register_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.config.model import Config
    from pgq_ops.db.connection import Connection


def load_config(path: Path | None, **flags: object) -> LoadedConfig:
    """Load the configuration and make its secrets known to whatever writes logs and errors.

    `flags` are values by key with `__` for the dots (`agent__listen`), None where a flag was not given.
    Raises ConfigError.
    """
    register_secrets([os.environ.get("PGPASSWORD", ""), *secrets_in(os.environ.get("PGQ_OPS_DSN", ""))])
    loaded = load(path, os.environ, {key.replace("__", "."): value for key, value in flags.items()})
    for dsn in (loaded.config.database.dsn, loaded.config.database.direct_dsn):
        if dsn is not None:
            register_secrets(secrets_in(dsn.get_secret_value()))
    return loaded


@contextmanager
def session(
    config: Config, doing: str, *, changes: bool = False, limits: Limits = COMMAND_LIMITS
) -> Iterator[Connection]:
    """Open a session for a command and close it after. It is read-only unless the command `changes` something.

    It goes past a transaction pooler where `direct_dsn` leads there, and is refused on one: what is set on the
    session, read-only included, would stay on a server process that the workers get next.

    The driver's errors inside become ours, with `doing` in their message ("read the jobs").
    Raises DatabaseUnreachable, NotPermitted, ConfigError.
    """
    connection = connect(
        config.database,
        Purpose.COMMAND,
        limits,
        read_only=not changes,
        direct=True,
        check=refuse_shared_process,
    )
    with connection, driver_errors(doing):
        yield connection


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
            known = f"there are {', '.join(tables)}" if tables else "it has none"
            raise UsageError(f'"{name}" is no job table of the configuration: {did_you_mean(name, tables) or known}')
    for name in names or tables:
        columns = tables[name].columns.mapped()
        origins = {column: loaded.origins[dotted(("job_tables", name, "columns", column))] for column in columns}
        preset = frozenset(column for column, origin in origins.items() if origin.startswith("preset "))
        try:
            yield name, bind(connection, name, tables[name], loaded.config.database, preset)
        except (ConfigError, NotPermitted) as error:
            yield name, error


def bind_tables(connection: Connection, loaded: LoadedConfig, names: Sequence[str] = ()) -> tuple[Bound, ...]:
    """Bind the named job tables, or all of them.

    Raises ConfigError with the problems of all tables, NotPermitted, UsageError where there is none to bind.
    """
    found = dict(bind_each(connection, loaded, names))
    if not found:
        raise UsageError("no job table is configured: add a section [job_tables.NAME] to the configuration")
    problems = [problem for error in found.values() if isinstance(error, ConfigError) for problem in error.problems]
    if problems:
        raise ConfigError(tuple(problems))
    for error in found.values():
        if isinstance(error, NotPermitted):
            raise error
    return tuple(bound for bound in found.values() if isinstance(bound, Bound))
