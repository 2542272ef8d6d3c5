"""What the schema remembers of storage parameters: what pgq-ops set, and what was there before."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psycopg import errors
from psycopg.types.json import Jsonb

from pgq_ops import sql
from pgq_ops.errors import NotInstalled, NotPermitted
from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier
from pgq_ops.schema.versions import installed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable, Relation

SETTINGS_SINCE = 4
"""The version of the schema that remembers settings."""
# As long as the runs of tasks: who asks why a table behaves otherwise than last month finds it.
KEEP_SECONDS = 30 * 86_400.0
PRUNE_BATCH = 5_000


@dataclass(frozen=True, slots=True)
class Setting:
    """A parameter (`toast.` before the TOAST table's) of one leaf that is as pgq-ops set it, as far as it knows.

    `old_value`: what was set before, None for nothing. `order_before`: the names of all parameters of the leaf, or of
    its TOAST table, before the first change. `set_at`: epoch seconds. `row`: 0 before it is saved.
    """

    table_oid: int
    parameter: str
    old_value: str | None
    set_value: str
    order_before: tuple[str, ...] = ()
    set_at: float = 0.0
    row: int = 0


def require(connection: Connection, what: str) -> None:
    """Raise NotInstalled where the schema is missing or too old, NotPermitted with the GRANT where it is not writable.

    `what` needs it, in the message. Raises the driver's errors.
    """
    _require(connection, what, "SELECT, INSERT, UPDATE, DELETE")


def require_readable(connection: Connection, what: str) -> None:
    """The same where it is read only."""
    _require(connection, what, "SELECT")


def _require(connection: Connection, what: str, privileges: str) -> None:
    found = installed(connection)
    if found is None or found < SETTINGS_SINCE:
        state = "which is not installed" if found is None else f"and {found} is installed"
        raise NotInstalled(
            f"{what} needs version {SETTINGS_SINCE} of the schema pgq_ops, where the old values are kept, {state}:"
            " run `pgq-ops install`"
        )
    asked = {"privileges": privileges.split(", ")}
    [(role, has_all)] = connection.execute(sql.statement("log/settings_privileges"), asked).fetchall()
    if not has_all:
        grant = f"GRANT {privileges} ON TABLE pgq_ops.setting TO {pasted(identifier(role))};"
        raise NotPermitted(f"{what}: role {role} may not use pgq_ops.setting, where the old values are kept", grant)


def of_table(connection: Connection, table: JobTable) -> tuple[Setting, ...]:
    """Those of the job table's leaves, of leaves that were detached since too. Raises psycopg.Error.

    Tables are found by what they are, not by their names; in a database that was restored from a dump, by their names.
    """
    rows = connection.execute(sql.statement("log/settings_of_table"), _names(table)).fetchall()
    return tuple(_setting(row) for row in rows)


def ours(connection: Connection, table: JobTable) -> Mapping[tuple[int, str], str]:
    """What pgq-ops set, by leaf's oid and parameter; empty without the schema, or the right to read it."""
    return {key: setting.set_value for key, setting in readable(connection, table).items()}


def readable(connection: Connection, table: JobTable) -> Mapping[tuple[int, str], Setting]:
    """What pgq-ops set and what was there before, by leaf's oid and parameter; empty where it cannot be read."""
    try:
        found = of_table(connection, table)
    except (errors.UndefinedTable, errors.InvalidSchemaName, errors.InsufficientPrivilege):
        return {}
    return {(one.table_oid, one.parameter): one for one in found}


def of_leaf(connection: Connection, leaf: int) -> Mapping[str, Setting]:
    """Those of one leaf, by parameter. Raises psycopg.Error."""
    rows = connection.execute(sql.statement("log/settings_of_leaf"), {"table_oid": leaf}).fetchall()
    return {setting.parameter: setting for setting in map(_setting, rows)}


def save(connection: Connection, table: JobTable, leaf: Relation, settings: Collection[Setting]) -> None:
    """Remember parameters of a leaf that are about to be set, in place of what was remembered of them.

    To be called in the transaction that sets them, under the lock that nobody else sets them under. Raises
    psycopg.Error.
    """
    values = [
        {"parameter": one.parameter, "old": one.old_value, "set": one.set_value, "order": list(one.order_before)}
        for one in settings
    ]
    parameters = _names(table) | {
        "table_oid": leaf.oid,
        "table_schema": leaf.schema,
        "table_name": leaf.name,
        "job_table": table.name,
        "settings": Jsonb(values),
        "host": socket.gethostname(),
        "pid": os.getpid(),
    }
    connection.execute(sql.statement("log/setting_save"), parameters)


def end(connection: Connection, settings: Sequence[Setting], ending: str) -> None:
    """Remember that parameters are no longer as pgq-ops set them: `reverted`, or `overridden` by somebody else."""
    if settings:
        rows = [setting.row for setting in settings]
        connection.execute(sql.statement("log/setting_end"), {"rows": rows, "ending": ending})


def tidy(connection: Connection) -> None:
    """Bring the memory in line with the tables that there are, and forget what is old. Raises psycopg.Error.

    In a database that was restored from a dump, what is remembered is given to the tables of the same names; rows of
    tables that are gone are deleted.
    """
    with connection.transaction():
        connection.execute(sql.statement("log/settings_adopt"), {})
        batch = {"keep_seconds": KEEP_SECONDS, "batch": PRUNE_BATCH}
        connection.execute(sql.statement("log/delete_old_settings"), batch)


def _names(table: JobTable) -> dict[str, object]:
    relation = table.relation
    return {"oid": relation.oid, "schema": relation.schema, "name": relation.name}


def _setting(row: tuple[Any, ...]) -> Setting:
    row_id, oid, parameter, old, value, order, set_at = row
    return Setting(oid, parameter, old, value, tuple(order), set_at, row_id)
