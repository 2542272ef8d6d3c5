"""What became of one job before: each time that it was taken back, buried or retried, by the reap log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from psycopg import errors

from pgq_ops import sql
from pgq_ops.errors import NotPermitted
from pgq_ops.job_table.columns import INTEGER_TYPES
from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

MOST = 100
"""The log keeps 30 days; more of one job's than these are nobody's reading."""


@dataclass(frozen=True, slots=True)
class Event:
    """`outcome`: requeued, dead_lettered or retried. `at` is ISO 8601 in UTC.

    `owner` held the job then, or retried it; `attempt` had ended, or of a retried one is how many count as made.
    """

    at: str
    seconds_ago: float
    outcome: str
    owner: str | None
    attempt: int | None


def read(connection: Connection, table: JobTable, key: str) -> tuple[Event, ...] | None:
    """The latest `MOST` events of the job at an address, the latest first; None where the schema is not installed.

    To be asked only where there is a primary key: without one a row has no lasting address. Raises NotPermitted with
    the GRANT.
    """
    return _events(connection, table, "log/job_history", key)


def of_id(connection: Connection, table: JobTable, job: str) -> tuple[Event, ...] | None:
    """The same of jobs that are not there any more, by their mapped id, as far as it is their key or its beginning."""
    mapped, key = table.fields.get("id"), table.key
    if not key or (mapped is not None and mapped.name != key[0].name):
        return ()
    if mapped is None and len(key) > 1:
        return read(connection, table, job)
    job = _as_printed(job, key[0].type_name)
    return _events(connection, table, "log/job_history" if len(key) == 1 else "log/job_history_by_first_key", job)


def _events(connection: Connection, table: JobTable, statement: str, job: str) -> tuple[Event, ...] | None:
    parameters = {"table_oid": table.relation.oid, "job": job, "limit": MOST}
    try:
        rows = connection.execute(sql.statement(statement), parameters).fetchall()
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        return None
    except errors.InsufficientPrivilege as error:
        role = str(connection.execute("SELECT current_user", {}).fetchall()[0][0])
        to = f"TO {pasted(identifier(role))};"
        raise NotPermitted(
            f"role {role} may not read the reap log; run `pgq-ops grants` with its tiers again, or at least",
            f"GRANT USAGE ON SCHEMA pgq_ops {to}\n  GRANT SELECT ON TABLE pgq_ops.reap_log {to}",
        ) from error
    return tuple(Event(*row) for row in rows)


def _as_printed(job: str, type_name: str) -> str:
    """The id as its type prints it, if it can be one: `007` is 7."""
    try:
        if type_name in INTEGER_TYPES:
            return str(int(job))
        return str(UUID(job)) if type_name == "uuid" else job
    except ValueError:
        return job
