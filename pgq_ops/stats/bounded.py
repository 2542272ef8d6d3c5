"""Looks at the job table: through its indexes, and within the session's timeout."""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors
from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.db.answers import pause
from pgq_ops.db.kept_plans import kept_plans
from pgq_ops.db.undecodable import client_cursor, has_no_encoding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

    Rows = list[tuple[Any, ...]]


def composed_once(look: composing.Composable) -> composing.SQL:
    """The look as one piece, for one that is made again and again: putting it together takes as long as to plan it."""
    return composing.SQL(look.as_string(None))


def read(  # noqa: PLR0913 (each by its name)
    connection: Connection,
    table: JobTable,
    look: composing.Composable,
    parameters: Mapping[str, Any],
    *,
    through_indexes: bool = True,
    again: bool = False,
) -> tuple[Rows, float]:
    """Run one look; gives its rows, and its transaction's `now()` in epoch seconds.

    `again`: it is made again and again with the same parameters, so that its plan is worth keeping.
    """
    now, rows = _results(connection, table, [look], parameters, through_indexes=through_indexes, again=again)
    return rows, float(now[0][0])


def read_all(  # noqa: PLR0913 (each by its name)
    connection: Connection,
    table: JobTable,
    looks: Sequence[composing.Composable],
    parameters: Mapping[str, Any],
    *,
    through_indexes: bool = True,
    again: bool = False,
) -> tuple[list[Rows], float]:
    """Run several looks as `read` does, with the parameters of all of them. One that fails fails all."""
    now, *results = _results(connection, table, looks, parameters, through_indexes=through_indexes, again=again)
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


def planned(connection: Connection, looks: Sequence[composing.Composable], parameters: Mapping[str, Any]) -> list[Rows]:
    """The rows of looks that are made again and again; they go in one message, which is a transaction of its own."""
    if has_no_encoding(connection):
        return _sent(client_cursor(connection), composing.SQL(";\n").join(looks), parameters)
    plans = kept_plans(connection)
    message = tuple(plans.text(look, parameters) for look in looks)
    ahead = plans.foreseen
    if ahead is not None and (answer := ahead.answer(message)) is not None:
        return answer
    began = time.monotonic()
    try:
        results = _sent(connection.cursor(), plans.message(message))
    except (errors.QueryCanceled, errors.LockNotAvailable):
        raise
    except psycopg.Error:
        # Where a plan does not fit any more the message is sent once more without them.
        if connection.closed or not plans.forget(message):
            raise
        results = _sent(connection.cursor(), b";\n".join(message))
    if ahead is not None:
        ahead.took(message, time.monotonic() - began)
    return results


def _results(  # noqa: PLR0913 (each by its name)
    connection: Connection,
    table: JobTable,
    looks: Sequence[composing.Composable],
    parameters: Mapping[str, Any],
    *,
    through_indexes: bool,
    again: bool,
) -> list[Rows]:
    """What the settings' last statement and the looks return.

    All go in one message, which is a transaction of its own: a round trip instead of four and more, and nothing is
    left on the session. The connection has to be in autocommit mode and outside a transaction.
    """
    every = [*_settings(partitioned=table.partitioned), *looks]
    values = {**_parameters(table, through_indexes=through_indexes), **parameters}
    # The plans of a table with partitions are as many times larger.
    if again and not table.partitioned:
        results = planned(connection, every, values)
    else:
        # A message holds several statements only where the client puts the values in. Each has its own timeout.
        results = _sent(client_cursor(connection), composing.SQL(";\n").join(every), values)
    pause(connection)
    return results[-len(looks) - 1 :]


def _sent(
    cursor: psycopg.Cursor[Any], message: composing.Composed | bytes, parameters: Mapping[str, Any] | None = None
) -> list[Rows]:
    cursor.execute(message, parameters)
    results = [cursor.fetchall()]
    while cursor.nextset():
        results.append(cursor.fetchall())
    return results


@cache
def _settings(*, partitioned: bool) -> tuple[composing.SQL, ...]:
    """The statements before a look; the last one returns `now()` first."""
    names = ["longer_timeout", "look_settings"] if partitioned else ["look_settings"]
    return tuple(composed_once(sql.statement(f"stats/{name}")) for name in names)


def _parameters(table: JobTable, *, through_indexes: bool) -> dict[str, Any]:
    return {"scanning": "off" if through_indexes else "on", "oid": table.relation.oid}
