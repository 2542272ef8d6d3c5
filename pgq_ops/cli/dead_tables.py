"""The job tables of a command that reads dead letters: one after another, and none keeps the others back."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops.binding import access, catalog
from pgq_ops.checks.index_advice import dead_index
from pgq_ops.cli.job_tables import bind_tables, with_found_tables
from pgq_ops.db.connection import row_security
from pgq_ops.db.failures import driver_errors
from pgq_ops.errors import DatabaseFailed, DatabaseUnreachable, NotPermitted, PgqOpsError
from pgq_ops.job_table.dead_place import dead_places
from pgq_ops.stats import index_support
from pgq_ops.stats.index_support import Question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.dead_place import DeadPlace
    from pgq_ops.job_table.table import JobTable


def each_table(
    connection: Connection, loaded: LoadedConfig, names: Sequence[str], work: Callable[[JobTable], None]
) -> dict[str, PgqOpsError | None]:
    """Do the work for each named job table (all if none). Gives by name what went wrong with it, None for nothing.

    Raises UsageError where there is no job table, DatabaseUnreachable.
    """
    tables = bind_tables(connection, with_found_tables(connection, loaded), names)
    ended: dict[str, PgqOpsError | None] = {}
    for name, found in tables.found.items():
        if isinstance(found, PgqOpsError):
            ended[name] = found
            continue
        try:
            with driver_errors(f"read the dead letters of {name}"), _advice(connection, found.table):
                work(found.table)
            ended[name] = None
        except DatabaseUnreachable:
            raise
        except PgqOpsError as error:
            ended[name] = error
    return ended


@contextmanager
def _advice(connection: Connection, table: JobTable) -> Iterator[None]:
    """Say which index is missing where a look takes too long, and which GRANT where it may not be made."""
    try:
        yield
    except errors.QueryCanceled as error:
        raise DatabaseFailed(
            f"reading the dead letters of {table.name} took too long{_faster(connection, table)}"
        ) from error
    except errors.InsufficientPrivilege as error:
        remedies = [_grant(connection, place) for place in dead_places(table) if not _may_read(connection, place)]
        if not remedies:
            raise
        raise NotPermitted(f"the role may not read the dead letters of {table.name}", "\n  ".join(remedies)) from error


def _faster(connection: Connection, table: JobTable) -> str:
    """What would take less time: an index, unless one leads to the dead letters already."""
    if "dead" not in table.states:
        return ""
    with row_security(connection, allowed=table.all_visible_policies):
        support = index_support.read(connection, table)
    if Question.DEAD in support.serving:
        return "; an index leads to them, so it is what they hold, such as long errors: ask for fewer of them"
    index = dead_index(table, support.tree)
    return f"; this index would lead to them:\n  {index}" if index else ""


def _may_read(connection: Connection, place: DeadPlace) -> bool:
    known = catalog.columns(connection, place.relation.oid)
    return all(known[name].readable for name in _columns(place) if name in known)


def _grant(connection: Connection, place: DeadPlace) -> str:
    columns = [*_columns(place), "tableoid", "ctid"]
    return access.grant(connection, "SELECT", columns, place.relation.schema, place.relation.name)


def _columns(place: DeadPlace) -> list[str]:
    """What a look at a place reads, unless its payload is asked for."""
    mapped = [one.name for field, one in place.table.fields.items() if one.name is not None and field != "payload"]
    return [*mapped, *(part.name for part in (*place.job_table.key, *place.table.key) if part.name != "tableoid")]
