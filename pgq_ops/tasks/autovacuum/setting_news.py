"""What is counted and logged of storage parameters that were changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops import logs, metrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable, Relation
    from pgq_ops.tasks.autovacuum.setting_outcome import SettingChange

STORAGE_CHANGES = metrics.counter(
    "storage_changes_total",
    "Storage parameters of the job table's partitions that were set or put back.",
    ("database", "job_table", "parameter"),
)

log = logs.get("autovacuum")


def declare(connection: Connection, table: JobTable, parameters: Iterable[str]) -> None:
    """Export the counters of these parameters, from 0 on."""
    for parameter in parameters:
        STORAGE_CHANGES.labels(connection.info.dbname, table.name, parameter)


def changed(connection: Connection, table: JobTable, leaf: Relation, changes: Sequence[SettingChange]) -> None:
    """Count and log that a leaf's parameters were set."""
    _told(connection, table, leaf, changes, "autovacuum.settings_changed")


def put_back(connection: Connection, table: JobTable, leaf: Relation, changes: Sequence[SettingChange]) -> None:
    """Count and log that a leaf's parameters are again what they were before pgq-ops set them."""
    _told(connection, table, leaf, changes, "autovacuum.settings_reverted")


def left(table: JobTable, leaf: Relation, changes: Sequence[SettingChange]) -> None:
    """Log what a revert leaves to whoever set it since."""
    if changes:
        said = "; ".join(map(str, changes))
        log.info("autovacuum.settings_left", job_table=table.name, table=str(leaf), changed_since=said)


def _told(
    connection: Connection, table: JobTable, leaf: Relation, changes: Sequence[SettingChange], event: str
) -> None:
    for change in changes:
        STORAGE_CHANGES.labels(connection.info.dbname, table.name, change.parameter).inc()
    if changes:
        log.info(event, job_table=table.name, table=str(leaf), changes="; ".join(map(str, changes)))
