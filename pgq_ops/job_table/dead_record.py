"""A dead letter as one JSON object, made by the server: no value is lost or changed on its way through a client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql

from pgq_ops.job_table.quoting import literal, type_name

if TYPE_CHECKING:
    from pgq_ops.job_table.columns import MappedColumn
    from pgq_ops.job_table.dead_place import DeadPlace

_TIMES = ("created_at", "available_at", "leased_at", "heartbeat_at", "lease_expires_at", "finished_at")
_PLAIN = ("kind", "state", "priority", "attempts", "max_attempts", "version", "owner")


def record(place: DeadPlace, *, payload: bool = False, whole_row: bool = False) -> sql.Composable:
    """The mapped fields under the design's words; times as ISO 8601 in UTC, an infinite one as `infinity`.

    `age_since` names the field that `age_seconds` counts from, null where no age is known.
    `payload`: with the mapped payload. `whole_row`: with every column, by its own name, under `row`; the payload is
    among them, and the role must be able to read them all.
    """
    parts: list[tuple[str, sql.Composable]] = [
        ("job_table", literal(place.job_table.name)),
        ("table", literal(str(place))),
        ("id", place.shown_id()),
        ("queue", place.table.queue()),
        ("age_seconds", place.age_seconds()),
        ("age_since", place.age_since_of_row()),
    ]
    fields = place.table.fields
    parts += [(name, _plain(fields[name])) for name in _PLAIN if name in fields]
    parts += [(name, place.table.clock.to_timestamptz(fields[name])) for name in _TIMES if name in fields]
    parts += [(name, _plain(fields[name])) for name in ("error",) if name in fields]
    if payload and "payload" in fields:
        parts.append(("payload", _plain(fields["payload"])))
    if whole_row:
        parts.append(("row", sql.SQL("pg_catalog.row_to_json(j.*)")))
    pairs = [sql.SQL("{}, {}").format(literal(name), value) for name, value in parts]
    return sql.SQL("pg_catalog.json_build_object({})").format(sql.SQL(", ").join(pairs))


def _plain(mapped: MappedColumn) -> sql.Composable:
    """The value; of an expression with its type, which a bare constant would not have."""
    if mapped.name is not None:
        return mapped.value
    return sql.SQL("{}::{}").format(mapped.value, type_name(mapped.base_type))
