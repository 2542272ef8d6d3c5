"""Finds job tables that look like a preset, for reading commands that have no configuration file.

A table counts only if it has every column that the preset maps: a guess that could be wrong is no guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.config.job_table import JobTableConfig
from pgq_ops.config.presets import preset_names, read_preset
from pgq_ops.job_table.quoting import plain_name

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection


def discover(connection: Connection) -> dict[str, JobTableConfig]:
    """The tables found, by name (`schema.name` where the name alone is not unique), ready to be bound."""
    found: dict[tuple[str, str], JobTableConfig] = {}
    for preset in preset_names():
        mapping = read_preset(preset)
        columns = [name for name in mapping["columns"].values() if isinstance(name, str)]
        rows = connection.execute(sql.statement("catalog/tables_with_columns"), {"columns": columns}).fetchall()
        for schema, name in rows:
            config = JobTableConfig.model_validate({**mapping, "table": _written(schema, name), "preset": preset})
            found.setdefault((schema, name), config)
    names = [name for _, name in found]
    return {name if names.count(name) == 1 else f"{schema}.{name}": config for (schema, name), config in found.items()}


def _written(schema: str, name: str) -> str:
    """The table as a configuration names it."""
    return plain_name(schema, name) if {".", '"'} & {*schema, *name} else f"{schema}.{name}"
