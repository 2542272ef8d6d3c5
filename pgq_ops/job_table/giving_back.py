"""What makes a job claimable again, whoever gives it back: the reaper, or a person who retries a dead one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql

from pgq_ops.job_table.quoting import literal, type_name

if TYPE_CHECKING:
    from pgq_ops.job_table.columns import MappedColumn
    from pgq_ops.job_table.table import JobTable

_TEXTS = frozenset({"text", "character varying", "bpchar", "citext"})
_JSON = frozenset({"jsonb", "json"})
_JSONB_APPENDED = sql.SQL(
    "(CASE WHEN {old} IS NULL THEN '[]'::jsonb WHEN pg_catalog.jsonb_typeof({old}::jsonb) = 'array' THEN {old}::jsonb"
    " ELSE pg_catalog.jsonb_build_array({old}::jsonb) END || pg_catalog.jsonb_build_array({note}))"
)
# As text: a json may hold what a jsonb cannot ("\u0000"), and keeps the order and the spaces it was written with.
_JSON_APPENDED = sql.SQL(
    "pg_catalog.concat(CASE WHEN {old} IS NULL THEN '[' WHEN pg_catalog.json_typeof({old}) <> 'array'"
    " THEN pg_catalog.concat('[', {old}, ', ') WHEN pg_catalog.json_array_length({old}) = 0 THEN '['"
    " ELSE pg_catalog.concat(pg_catalog.left(pg_catalog.rtrim({old}::text, E' \\n\\r\\t'), -1), ', ') END,"
    " {note}, ']')::json"
)
_HOLDERS = ("owner", "lease_expires_at", "heartbeat_at", "leased_at")


def pending_writes(table: JobTable, moment: sql.Composable) -> dict[str, sql.Composable]:
    """State, available time (`moment`, a timestamptz), owner and lease columns, so that the workers' claim finds it."""
    writes = dict(table.states["pending"].writes)
    available = table.fields.get("available_at")
    if available is not None and available.name is not None:
        writes[available.name] = table.clock.written(moment, available)
    for field in _HOLDERS:
        mapped = table.fields.get(field)
        if mapped is not None and mapped.name is not None and not mapped.not_null:
            writes.setdefault(mapped.name, sql.SQL("NULL"))
    return writes


def takes_notes(error: MappedColumn) -> bool:
    """Whether `error_appended` fits the column: a text, JSON, or an array of one of them."""
    kind = error.base_type.removesuffix("[]")
    return kind in _JSON or kind.rpartition(".")[2] in _TEXTS


def error_appended(error: MappedColumn, text: sql.Composable, element: sql.Composable) -> sql.Composable:
    """The mapped error with a note behind what stands there: a line of `text`, or an `element` of a JSON array.

    Only for a column that `takes_notes`.
    """
    if error.base_type in _JSON:
        template = _JSONB_APPENDED if error.base_type == "jsonb" else _JSON_APPENDED
        return template.format(old=error.value, note=element)
    if error.base_type.endswith("[]"):
        # With the length of a varchar(n)[], to which a cast cuts; a domain's is not known here.
        kind = (error.type_name if error.type_name.endswith("[]") else error.base_type).removesuffix("[]")
        note = element if kind in _JSON else text
        return sql.SQL("pg_catalog.array_append({}, ({})::{})").format(error.value, note, type_name(kind))
    appended = sql.SQL("pg_catalog.concat_ws(E'\\n', {}::text, {})").format(error.value, text)
    return sql.SQL("pg_catalog.left({}, {})").format(appended, literal(error.length)) if error.length else appended
