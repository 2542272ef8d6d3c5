"""A job table bound from a config written as TOML, as the commands and the agent bind theirs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from pgq_ops.binding.bind import bind
from pgq_ops.config.load import load
from pgq_ops.db.connection import WRITE_LIMITS, Purpose, connect

if TYPE_CHECKING:
    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.config.model import Config
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from tests.support.database import Database

LEASE = """
[job_tables.emails]
table = "public.demo_queue_jobs"
preset = "lease"
[job_tables.emails.reaper]
"""


def loaded_of(toml: str, dsn: str) -> LoadedConfig:
    """The config in `toml` as a command loads it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "pgq-ops.toml"
        path.write_text(toml, encoding="utf-8")
        loaded = load(path, {}, {})
    database = loaded.config.database.model_copy(update={"dsn": SecretStr(dsn)})
    return replace(loaded, config=loaded.config.model_copy(update={"database": database}))


def config_of(toml: str, dsn: str) -> tuple[Config, frozenset[str]]:
    """The config in `toml`, and the columns of its (one) job table that come from a preset."""
    loaded = loaded_of(toml, dsn)
    config = loaded.config
    [name] = config.job_tables
    return config, loaded.preset_columns(name)


@dataclass(frozen=True, slots=True)
class BoundTable:
    """A bound job table with a session of the agent's kind."""

    connection: Connection
    table: JobTable
    config: Config
    notes: tuple[str, ...]


def bind_toml(database: Database, toml: str = LEASE, *, role: str | None = None, **options: Any) -> BoundTable:
    """Bind the one job table of the config in `toml`, as `role` (the superuser unless given)."""
    config, preset_columns = config_of(toml, database.dsn if role is None else database.dsn_as(role))
    connection = connect(config.database, Purpose.LEADER, options.pop("limits", WRITE_LIMITS), **options)
    database.adopt(connection)
    [(name, table)] = config.job_tables.items()
    bound = bind(connection, name, table, config.database, preset_columns)
    return BoundTable(connection, bound.table, config, bound.notes)
