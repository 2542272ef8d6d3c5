"""A job table of which only the name is known: what is left of it while somebody keeps others from reading it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.binding.relation import find
from pgq_ops.job_table.columns import Clock
from pgq_ops.job_table.table import JobTable, Relation

if TYPE_CHECKING:
    from pgq_ops.config.job_table import JobTableConfig
    from pgq_ops.config.model import Database
    from pgq_ops.db.connection import Connection


def bare(connection: Connection, name: str, config: JobTableConfig, database: Database) -> JobTable:
    """The job table without its mapping: enough for what is read of the catalog and of sessions, and for nothing else.

    Waits for no lock on it. Raises ConfigError, NotPermitted, the driver's errors.
    """
    found = find(connection, f"job_tables.{name}.table", config.table)
    return JobTable(
        name=name,
        relation=Relation(found.oid, found.schema, found.name),
        partitioned=found.kind == "p",
        key=(),
        fields={},
        states={},
        policies=tuple(config.policies()),
        clock=Clock(database.timezone),
    )
