"""The first line of a mapped error, whatever its column is: text, an array, or JSON as libraries write it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql

from pgq_ops.job_table.quoting import literal

if TYPE_CHECKING:
    from pgq_ops.job_table.dead_place import DeadPlace

# What a line of a screen can show, and enough to tell errors apart.
LONGEST = 300
# Leading white space of an error is none of it, and a first line that is empty tells nothing.
_FIRST_LINE = sql.SQL("pg_catalog.split_part(pg_catalog.left(pg_catalog.ltrim({}, E' \\t\\r\\n'), {}), E'\\n', 1)")
_OF_JSON = sql.SQL(
    "(SELECT COALESCE(pgq_ops_first.error ->> 'error'::text, pgq_ops_first.error ->> 'message'::text,"
    " pgq_ops_first.error #>> '{{}}'::text[]) FROM (SELECT {first} AS error) AS pgq_ops_first)"
)
# A `json` may hold a character that no text of PostgreSQL can: then it is shown as it is written.
_UNLESS_NUL = sql.SQL("CASE WHEN pg_catalog.strpos({error}::text, '\\u0000') > 0 THEN {error}::text ELSE {text} END")
_FIRST_OF_JSON = sql.SQL("CASE pg_catalog.{json}_typeof({error}) WHEN 'array' THEN {error} -> 0 ELSE {error} END")


def error_head(place: DeadPlace) -> sql.Composable:
    """Up to `LONGEST` characters of the error's first line; NULL without an error.

    Of an array it is the first element's, of a JSON object what stands under `error` or `message`.
    """
    mapped = place.table.fields.get("error")
    if mapped is None:
        return sql.SQL("NULL::text")
    value, kind = mapped.value, mapped.base_type
    if kind.endswith("[]"):
        kind = kind.removesuffix("[]")
        value = sql.SQL("({0})[pg_catalog.array_lower({0}, 1)]").format(value)
    if kind in ("json", "jsonb"):
        first = _FIRST_OF_JSON.format(json=sql.SQL("jsonb" if kind == "jsonb" else "json"), error=value)
        text: sql.Composable = _OF_JSON.format(first=first)
        if kind == "json":
            text = _UNLESS_NUL.format(error=value, text=text)
    else:
        text = sql.SQL("{}::text").format(value)
    return _FIRST_LINE.format(text, literal(LONGEST))
