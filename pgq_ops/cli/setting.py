"""What most commands begin with: the configuration and a session."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pgq_ops.config.dsn import secrets_in
from pgq_ops.config.load import load
from pgq_ops.db.connection import COMMAND_LIMITS, Limits, Purpose, connect
from pgq_ops.db.failures import driver_errors
from pgq_ops.errors import ActionFailed, DatabaseFailed, DatabaseUnreachable
from pgq_ops.leader.pooler import refuse_shared_process
from pgq_ops.logs import register_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pgq_ops.config.load import LoadedConfig
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
    loaded: LoadedConfig, doing: str, *, changes: bool = False, limits: Limits = COMMAND_LIMITS
) -> Iterator[Connection]:
    """Open a session for a command and close it after. It is read-only unless the command `changes` something.

    It goes past a transaction pooler where `direct_dsn` leads there, and is refused on one: what is set on the
    session, read-only included, would stay on a server process that the workers get next.

    The driver's errors inside become ours, with `doing` in their message ("read the jobs").
    Raises DatabaseUnreachable, NotPermitted, ConfigError, and where the database fails otherwise ActionFailed if
    the command `changes` something, else DatabaseFailed.
    """
    with telling_what_is_not_set(loaded):
        connection = connect(
            loaded.config.database,
            Purpose.COMMAND,
            limits,
            read_only=not changes,
            direct=True,
            check=refuse_shared_process,
        )
    try:
        with connection, driver_errors(doing):
            yield connection
    except DatabaseFailed as error:
        if changes:
            raise ActionFailed(str(error)) from error
        raise


@contextmanager
def telling_what_is_not_set(loaded: LoadedConfig) -> Iterator[None]:
    """Where a connection cannot be made and nobody said to what: say so, as it may be the wrong folder."""
    try:
        yield
    except DatabaseUnreachable as error:
        if loaded.config.database.dsn is None and loaded.no_file:
            raise DatabaseUnreachable(f"{error}\n  {loaded.no_file}, nor is PGQ_OPS_DSN") from error
        raise
