"""Dead letters one by one, whole, however many there are: by pages of their keys, each statement for itself.

No snapshot lives longer than a page: one held for a long export would keep VACUUM from the whole table.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.db.connection import row_security
from pgq_ops.job_table.dead_record import record
from pgq_ops.job_table.dead_selection import select
from pgq_ops.job_table.quoting import identifier, type_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.dead_filter import DeadFilter
    from pgq_ops.job_table.dead_place import DeadPlace

# A page of keys may cost a pass over all dead letters, so it is large; a page of rows may hold large payloads.
_KEYS_AT_ONCE = 10_000
_ROWS_AT_ONCE = 200
_BETWEEN_VALUES = re.compile(r"[\t\r\n]")


def read(  # noqa: PLR0913 (what is asked for, each part of it by its name)
    connection: Connection,
    place: DeadPlace,
    wanted: DeadFilter,
    *,
    limit: int | None = None,
    payload: bool = False,
    whole_row: bool = False,
) -> Iterator[str]:
    """The records (JSON, each on one printable line) in the order of the key, up to `limit` (None: all).

    What is retried or purged meanwhile is left out. Raises ConfigError, the driver's errors.
    """
    written = record(place, payload=payload, whole_row=whole_row)
    for keys in _keys(connection, place, wanted, limit):
        for first in range(0, len(keys), _ROWS_AT_ONCE):
            yield from _records(connection, place, written, keys[first : first + _ROWS_AT_ONCE])


def _keys(
    connection: Connection, place: DeadPlace, wanted: DeadFilter, limit: int | None
) -> Iterator[list[tuple[str, ...]]]:
    selection = select(place, wanted)
    columns, types = place.table.key_columns(), place.table.key_types()
    names = [f"after_{number}" for number in range(1, len(columns) + 1)]
    values = [
        composing.SQL("{}::{}").format(composing.Placeholder(name), type_name(kind))
        for name, kind in zip(names, types, strict=True)
    ]
    after = composing.SQL("({}) > ({})").format(_listed(columns), _listed(values))
    last: tuple[str, ...] | None = None
    left = limit
    while left is None or left > 0:
        fragments = {
            "key_texts": _listed([composing.SQL("{}::text").format(column) for column in columns]),
            "key_columns": _listed(columns),
            "table": place.relation.sql,
            "condition": selection.condition,
            "after": composing.SQL("true") if last is None else after,
        }
        page = _KEYS_AT_ONCE if left is None else min(left, _KEYS_AT_ONCE)
        position = {} if last is None else dict(zip(names, last, strict=True))
        parameters: dict[str, Any] = {**selection.parameters, **position, "page": page}
        with row_security(connection, allowed=place.table.all_visible_policies):
            keys = connection.execute(sql.statement("stats/dead_keys", fragments), parameters).fetchall()
        yield keys
        if len(keys) < page:
            return
        last = keys[-1]
        left = None if left is None else left - len(keys)


def _records(
    connection: Connection, place: DeadPlace, written: composing.Composable, keys: Sequence[tuple[str, ...]]
) -> list[str]:
    types = place.table.key_types()
    numbers = range(1, len(types) + 1)
    names = [identifier(f"pgq_ops_key_{number}") for number in numbers]
    typed = [
        composing.SQL("w.{0}::{1} AS {0}").format(name, type_name(kind))
        for name, kind in zip(names, types, strict=True)
    ]
    arrays = [
        composing.SQL("pg_catalog.unnest({}::text[])").format(composing.Placeholder(f"key_{number}"))
        for number in numbers
    ]
    fragments = {
        "record": written,
        "typed_keys": _listed(typed),
        "key_lists": _listed(arrays),
        "key_names": _listed(names),
        "table": place.relation.sql,
        "same_row": place.table.same_row("pgq_ops_wanted"),
        "is_dead": place.is_dead(),
    }
    parameters = {f"key_{number}": [key[number - 1] for key in keys] for number in numbers}
    with row_security(connection, allowed=place.table.all_visible_policies):
        rows = connection.execute(sql.statement("stats/dead_records", fragments), parameters).fetchall()
    return [_plainly(text) for (text,) in rows]


def _listed(parts: Sequence[composing.Composable]) -> composing.Composable:
    return composing.SQL(", ").join(parts)


def _plainly(text: str) -> str:
    """The same JSON on one line, without a character that a terminal would obey or not show.

    A `json` column keeps its writer's line breaks, which can only stand between values. Whatever else is not printable
    can only stand in a string, where JSON may escape it.
    """
    text = _BETWEEN_VALUES.sub(" ", text)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)
