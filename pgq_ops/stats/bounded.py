"""Looks at the job table: through its indexes, and within the session's timeout."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.db.answers import pause
from pgq_ops.db.undecodable import client_cursor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

    Rows = list[tuple[Any, ...]]


def composed_once(look: composing.Composable) -> composing.SQL:
    """The look as one piece, for one that is made again and again: putting it together takes as long as to plan it."""
    return composing.SQL(look.as_string(None))


def read(
    connection: Connection,
    table: JobTable,
    look: composing.Composable,
    parameters: Mapping[str, Any],
    *,
    through_indexes: bool = True,
) -> tuple[Rows, float]:
    """Run one look; gives its rows, and its transaction's `now()` in epoch seconds."""
    now, rows = _results(connection, table, [look], parameters, through_indexes=through_indexes)
    return rows, float(now[0][0])


def read_all(
    connection: Connection,
    table: JobTable,
    looks: Sequence[composing.Composable],
    parameters: Mapping[str, Any],
    *,
    through_indexes: bool = True,
) -> tuple[list[Rows], float]:
    """Run several looks as `read` does, with the parameters of all of them. One that fails fails all."""
    now, *results = _results(connection, table, looks, parameters, through_indexes=through_indexes)
    return results, float(now[0][0])


@contextmanager
def transaction(connection: Connection, table: JobTable, *, through_indexes: bool = True) -> Iterator[float]:
    """A transaction for looks that depend on each other; gives its `now()` in epoch seconds.

    `through_indexes`: every index that fits is used. Without it a wrong statistic is enough for a scan of the
    whole table: `LIMIT 10001` looks cheap to a planner that believes half of the rows to be pending.
    """
    parameters = _parameters(table, through_indexes=through_indexes)
    with connection.transaction():
        for setting in _settings(partitioned=table.partitioned):
            row = connection.execute(setting, parameters).fetchone()
        yield float(row[0]) if row else 0.0
    pause(connection)


def _results(
    connection: Connection,
    table: JobTable,
    looks: Sequence[composing.Composable],
    parameters: Mapping[str, Any],
    *,
    through_indexes: bool,
) -> list[Rows]:
    """What the settings' last statement and the looks return.

    All go in one message, which is a transaction of its own: a round trip instead of four and more, and nothing is
    left on the session. The connection has to be in autocommit mode and outside a transaction.
    """
    # A message holds several statements only where the client puts the values in. Each has its own timeout.
    cursor = client_cursor(connection)
    message = composing.SQL(";\n").join([*_settings(partitioned=table.partitioned), *looks])
    cursor.execute(message, {**_parameters(table, through_indexes=through_indexes), **parameters})
    results = [cursor.fetchall()]
    while cursor.nextset():
        results.append(cursor.fetchall())
    pause(connection)
    return results[-len(looks) - 1 :]


@cache
def _settings(*, partitioned: bool) -> tuple[composing.SQL, ...]:
    """The statements before a look; the last one returns `now()` first."""
    names = ["longer_timeout", "look_settings"] if partitioned else ["look_settings"]
    return tuple(composed_once(sql.statement(f"stats/{name}")) for name in names)


def _parameters(table: JobTable, *, through_indexes: bool) -> dict[str, Any]:
    return {"scanning": "off" if through_indexes else "on", "oid": table.relation.oid}
