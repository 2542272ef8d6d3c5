"""Finds the table that a name in the config means."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.binding import catalog
from pgq_ops.errors import ConfigError, NotPermitted, Problem
from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.binding.catalog import CatalogRelation
    from pgq_ops.db.connection import Connection

_NOT_TABLES = {
    "v": "a view",
    "m": "a materialized view",
    "f": "a foreign table",
    "S": "a sequence",
    "c": "a composite type",
}
_PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')


def split_name(text: str) -> tuple[str | None, str]:
    """Read `name`, `schema.name` (both taken literally) or SQL-quoted parts; raises ValueError with the reason.

    In the quoted form an unquoted part is folded to lower case, as SQL does.
    """
    if '"' not in text:
        schema, dot, name = text.partition(".")
        if not dot:
            return None, text
        if "." in name or not schema or not name:
            raise ValueError("""is not "name" or "schema.name"; quote names that contain dots: '"a.b"."c"'""")
        return schema, name
    parts: list[str] = []
    position = 0
    while position < len(text):
        match = _PART.match(text, position)
        if match is None:
            raise ValueError("has quotes that do not match")
        parts.append(match[1].replace('""', '"') if match[1] is not None else match[2].strip().lower())
        position = match.end()
        if position < len(text) and text[position] != ".":
            raise ValueError("has quotes that do not match")
        position += 1
    if len(parts) not in (1, 2) or text.endswith(".") or not all(parts):
        raise ValueError('is not "name" or "schema.name"')
    return (None, parts[0]) if len(parts) == 1 else (parts[0], parts[1])


def find(
    connection: Connection, key: str, text: str, create: Callable[[str, str], str] | None = None
) -> CatalogRelation:
    """The table that `text` (the config's `key`) names; `create` gives the statement that makes it, for a hint.

    Raises ConfigError for no such table, one of several, or something that is no table; NotPermitted
    without USAGE on its schema.
    """
    try:
        schema, name = split_name(text)
    except ValueError as error:
        raise ConfigError((Problem(key, f"{text!r} {error}"),)) from None
    found = catalog.relations(connection, schema, name)
    if schema is None and sum(relation.on_search_path for relation in found) > 0:
        found = [relation for relation in found if relation.on_search_path][:1]
    if not found:
        hints = [_suggestion(connection, text), "" if create is None else create(schema or "public", name)]
        hint = " else ".join(part for part in hints if part)
        raise ConfigError((Problem(key, f"there is no table {text!r} in this database", hint),))
    if len(found) > 1:
        places = ", ".join(f"{relation.schema}.{relation.name}" for relation in found)
        raise ConfigError((Problem(key, f"{text!r} is in several schemas", f"write one of {places}"),))
    relation = found[0]
    if relation.kind in _NOT_TABLES:
        raise ConfigError((Problem(key, f"{text!r} is {_NOT_TABLES[relation.kind]}", "name the table itself"),))
    if not relation.schema_usable:
        role = catalog.server(connection).role
        grant = f"GRANT USAGE ON SCHEMA {pasted(identifier(relation.schema))} TO {pasted(identifier(role))};"
        raise NotPermitted(f"{key}: role {role} may not use schema {relation.schema}", grant)
    return relation


def _suggestion(connection: Connection, text: str) -> str:
    rows = connection.execute(sql.statement("catalog/similar_names"), {}).fetchall()
    names = {f"{schema}.{name}": f"{schema}.{name}" for schema, name in rows} | {
        name: f"{schema}.{name}" for schema, name in rows
    }
    folded = {known.lower(): full for known, full in names.items()}
    guesses = get_close_matches(text.lower().replace('"', ""), folded, n=3, cutoff=0.6)
    unique = list(dict.fromkeys(folded[guess] for guess in guesses))
    return "did you mean " + " or ".join(f'"{guess}"' for guess in unique[:2]) + "?" if unique else ""
