"""A filter on dead letters as a condition over the rows of one place."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from psycopg import sql

from pgq_ops.errors import ConfigError, Problem
from pgq_ops.job_table.columns import INTEGER_TYPES
from pgq_ops.job_table.queue_labels import EMPTY_QUEUE, NULL_QUEUE
from pgq_ops.job_table.quoting import all_of, type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pgq_ops.job_table.dead_filter import DeadFilter
    from pgq_ops.job_table.dead_place import DeadPlace

_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}")
_DIGEST = re.compile(r"(.*)#([0-9a-f]{8})", re.DOTALL)
_REPLACED = "\ufffd"
# What a queue is called where none is mapped.
UNMAPPED_QUEUE = "default"
# Of an age: the comparison of the moment of death with its edge.
_COMPARISONS = {"older": sql.SQL("<="), "newer": sql.SQL(">")}


@dataclass(frozen=True, slots=True)
class Selection:
    """The condition that `j` is dead and meant, and the parameters it names (each begins with `dead_`)."""

    condition: sql.Composable
    parameters: Mapping[str, Any]


def select(place: DeadPlace, wanted: DeadFilter) -> Selection:
    """The dead letters of a place that a filter means.

    Raises ConfigError where the filter asks for what is not mapped: it can be neither true nor false there.
    """
    conditions, parameters = [place.is_dead()], dict[str, Any]()
    parts: list[tuple[object, Callable[[], Selection]]] = [
        (wanted.queue, lambda: _in_queue(place, str(wanted.queue))),
        (wanted.kind, lambda: _of_kind(place, str(wanted.kind))),
        (wanted.older_than, lambda: _by_age(place, wanted, "older")),
        (wanted.newer_than, lambda: _by_age(place, wanted, "newer")),
        (wanted.error, lambda: _with_error(place, str(wanted.error))),
        (wanted.ids or None, lambda: _with_ids(place, wanted.ids)),
    ]
    for value, condition in parts:
        if value is not None:
            found = condition()
            conditions.append(found.condition)
            parameters |= found.parameters
    return Selection(all_of(conditions), parameters)


def _require(place: DeadPlace, option: str, *fields: str) -> None:
    if not any(field in place.table.fields for field in fields):
        key = f"job_tables.{place.job_table.name}.columns.{fields[0]}"
        hint = f"or columns.{fields[1]}" if fields[1:] else "map the column, or leave the option out"
        raise ConfigError((Problem(key, f"is not mapped, and {option} needs it", hint),))


def _require_death(place: DeadPlace, option: str) -> None:
    if "finished_at" not in place.table.fields:
        key = f"job_tables.{place.job_table.name}.columns.finished_at"
        what = f"is not mapped, so that it is not known when a job died, and {option} would be a guess"
        raise ConfigError((Problem(key, what, "map it, or say --all instead: dead letters of any age"),))


def _in_queue(place: DeadPlace, queue: str) -> Selection:
    """The queue by its own name or by the one it is shown under."""
    if queue != UNMAPPED_QUEUE:
        _require(place, "--queue", "queue")
    column = place.table.queue()
    if queue == NULL_QUEUE:
        return Selection(sql.SQL("{} IS NULL").format(column), {})
    parameters = {"dead_queue": "" if queue == EMPTY_QUEUE else queue}
    exact = sql.SQL("{} = %(dead_queue)s::text").format(column)
    if (shortened := _DIGEST.fullmatch(queue)) is None:
        return Selection(exact, parameters)
    by_digest = sql.SQL(
        "({exact} OR pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to({queue}, 'UTF8')),"
        " 'hex'), 8) = %(dead_queue_digest)s::text"
        " AND pg_catalog.starts_with({queue}, %(dead_queue_start)s::text))"
    ).format(exact=exact, queue=column)
    start = shortened[1].partition(_REPLACED)[0]
    return Selection(by_digest, parameters | {"dead_queue_digest": shortened[2], "dead_queue_start": start})


def _of_kind(place: DeadPlace, kind: str) -> Selection:
    _require(place, "--kind", "kind")
    return Selection(sql.SQL("{} = %(dead_kind)s::text").format(place.text_of("kind")), {"dead_kind": kind})


def _by_age(place: DeadPlace, wanted: DeadFilter, name: str) -> Selection:
    if wanted.deaths_alone:
        _require_death(place, f"--{name}-than")
    _require(place, f"--{name}-than", "finished_at", "created_at")
    age = {"older": wanted.older_than, "newer": wanted.newer_than}[name]
    seconds = f"dead_{name}_seconds"
    condition = sql.SQL("{} {} pg_catalog.now() - pg_catalog.make_interval(secs => {}::float8)").format(
        place.died_at(deaths_alone=wanted.deaths_alone), _COMPARISONS[name], sql.Placeholder(seconds)
    )
    return Selection(condition, {seconds: 0.0 if age is None else age.total_seconds()})


def _with_error(place: DeadPlace, part: str) -> Selection:
    """JSON is searched as it is written, with what JSON escapes escaped in each way that a writer may have chosen."""
    _require(place, "--error", "error")
    forms = [part]
    if place.table.fields["error"].base_type.startswith("json"):
        forms += [json.dumps(part, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True)]
    condition = sql.SQL(
        "EXISTS (SELECT FROM pg_catalog.unnest(%(dead_error)s::text[]) AS pgq_ops_form(part)"
        " WHERE pg_catalog.strpos(pg_catalog.lower({}), pg_catalog.lower(pgq_ops_form.part)) > 0)"
    ).format(place.error())
    return Selection(condition, {"dead_error": list(dict.fromkeys(forms))})


def _with_ids(place: DeadPlace, ids: tuple[str, ...]) -> Selection:
    """By an index where the id is a number, a uuid or a text; text that no such id can be finds nothing."""
    value, kind = _id_column(place)
    if kind in INTEGER_TYPES:
        known = [int(one) for one in ids if _WHOLE_NUMBER.fullmatch(one)]
        fitting: list[Any] = [one for one in known if -(2**63) <= one < 2**63]
        array = "bigint"
    elif kind == "uuid":
        fitting, array = [one for one in map(_uuid, ids) if one is not None], "uuid"
    else:
        value, fitting, array = place.shown_id(), list(ids), "text"
    condition = sql.SQL("{} = ANY (%(dead_ids)s::{}[])").format(value, type_name(array))
    return Selection(condition, {"dead_ids": fitting})


def _id_column(place: DeadPlace) -> tuple[sql.Composable, str]:
    """What the shown id is the text of, with its type; the text itself where it is made of several columns."""
    mapped, key = place.table.fields.get("id"), place.table.key
    if mapped is not None:
        return mapped.value, mapped.base_type
    if len(key) == 1 and not place.is_dead_letter_table:
        return place.table.key_columns()[0], key[0].type_name
    return place.shown_id(), "text"


def _uuid(text: str) -> str | None:
    try:
        return str(UUID(text))
    except ValueError:
        return None
