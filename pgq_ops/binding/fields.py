"""Maps the design's words to the table's columns and expressions, and checks that their types fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql as composing

from pgq_ops.errors import Problem
from pgq_ops.job_table.columns import NUMBER_TYPES, MappedColumn, TimeKind, column
from pgq_ops.job_table.quoting import expression

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.binding.catalog import CatalogColumn
    from pgq_ops.config.columns import Column
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import Relation

TIMES = frozenset({"available_at", "lease_expires_at", "heartbeat_at", "leased_at", "created_at", "finished_at"})
INTEGERS = frozenset({"attempts", "max_attempts", "version"})
_TIME_TYPES = {
    "timestamp with time zone": TimeKind.TIMESTAMPTZ,
    "timestamp without time zone": TimeKind.TIMESTAMP,
    "date": TimeKind.TIMESTAMP,
}
_NAME_UNITS = (
    ("_ms", "ms"),
    ("_millis", "ms"),
    ("_us", "us"),
    ("_micros", "us"),
    ("_s", "s"),
    ("_sec", "s"),
    ("_seconds", "s"),
)
# Between these magnitudes lie centuries: 1e11 s is the year 5138, 1e11 ms is 1973.
_MILLISECONDS_FROM, _MICROSECONDS_FROM = 1e11, 1e14


@dataclass(slots=True)
class FieldMapper:
    """Collects mapped columns, problems and notes for one job table."""

    connection: Connection
    relation: Relation
    catalog: Mapping[str, CatalogColumn]
    key: str
    problems: list[Problem]
    notes: list[str]

    def map(self, wanted: Mapping[str, Column], from_preset: frozenset[str]) -> dict[str, MappedColumn]:
        """The mapped fields; a column that only a preset names and the table lacks is left out with a note."""
        mapped: dict[str, MappedColumn] = {}
        for field, spec in wanted.items():
            found = self._map_one(field, spec, optional=field in from_preset)
            if found is not None:
                mapped[field] = found
        return self._with_times(mapped, wanted)

    def _map_one(self, field: str, spec: Column, *, optional: bool) -> MappedColumn | None:
        key = f"{self.key}.columns.{field}"
        if spec.sql is not None:
            return self._map_expression(key, spec.sql)
        name = str(spec.name)
        known = self.catalog.get(name)
        if known is None:
            if optional:
                self.notes.append(f"{key}: the preset's column {name!r} is not in {self.relation}, left out")
            else:
                self.problems.append(
                    Problem(key, f"{self.relation} has no column {name!r}", suggest(name, self.catalog))
                )
            return None
        found = MappedColumn(
            value=column(name),
            type_name=known.type_name,
            base_type=known.base_type,
            name=None if known.generated else name,
            not_null=known.not_null,
            length=known.length,
        )
        if field in INTEGERS and known.base_type not in NUMBER_TYPES:
            self.problems.append(Problem(key, f"column {name!r} is {known.type_name}", "it must be an integer"))
        return found

    def _map_expression(self, key: str, text: str) -> MappedColumn | None:
        value = expression(text)
        type_name = expression_type(self.connection, self.relation, value, key, self.problems)
        return None if type_name is None else MappedColumn(value=value, type_name=type_name, base_type=type_name)

    def _with_times(self, mapped: dict[str, MappedColumn], wanted: Mapping[str, Column]) -> dict[str, MappedColumn]:
        """Decide how each time is stored; integers are epochs whose unit is given, seen in the rows, or named."""
        epochs: dict[str, MappedColumn] = {}
        for field in TIMES & mapped.keys():
            kind = _TIME_TYPES.get(mapped[field].base_type)
            if kind is not None:
                mapped[field] = replace(mapped[field], time=kind)
            elif mapped[field].base_type in NUMBER_TYPES:
                epochs[field] = mapped[field]
            else:
                what = f"{wanted[field].name or wanted[field].sql!r} is {mapped[field].type_name}"
                hint = "a time is a timestamp, or an integer that counts since 1970"
                self.problems.append(Problem(f"{self.key}.columns.{field}", what, hint))
        seen = {unit for epoch in epochs.values() if (unit := self._unit_in_rows(epoch)) is not None}
        for field, epoch in epochs.items():
            unit = wanted[field].unit or self._unit_in_rows(epoch) or _unit_in_name(wanted[field].name)
            if unit is None and len(seen) == 1:
                unit = next(iter(seen))
            if unit is None:
                what = f"no row tells whether {wanted[field].name!r} counts seconds or milliseconds"
                hint = f'write {field} = {{ column = "{wanted[field].name}", unit = "ms" }}, or "s" or "us"'
                self.problems.append(Problem(f"{self.key}.columns.{field}", what, hint))
            else:
                mapped[field] = replace(epoch, time=TimeKind(unit))
        return mapped

    def _unit_in_rows(self, epoch: MappedColumn) -> str | None:
        query = composing.SQL(
            "SELECT max(abs(value))::float8 FROM (SELECT {} AS value FROM {} AS j LIMIT 1000) AS s WHERE value <> 0"
        ).format(epoch.value, self.relation.sql)
        row = self.connection.execute(query, {}).fetchone()
        if row is None or row[0] is None:
            return None
        size = float(row[0])
        return "us" if size >= _MICROSECONDS_FROM else "ms" if size >= _MILLISECONDS_FROM else "s"


def _unit_in_name(name: str | None) -> str | None:
    return next((unit for ending, unit in _NAME_UNITS if (name or "").lower().endswith(ending)), None)


def suggest(name: str, known: Mapping[str, Any]) -> str:
    """A "did you mean" for a column's name, or the list of those there are."""
    folded = {other.lower(): other for other in known}
    guess = get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    if guess:
        return f'did you mean "{folded[guess[0]]}"?'
    return "its columns are " + ", ".join(list(known)[:20])


def expression_type(
    connection: Connection, relation: Relation, value: composing.Composable, key: str, problems: list[Problem]
) -> str | None:
    """The type of an SQL expression over the table, asked of the server without reading a row.

    None, with a problem, where the server refuses it. Lock and connection errors are raised.
    """
    query = composing.SQL("SELECT {} FROM {} AS j LIMIT 0").format(value, relation.sql)
    try:
        cursor = connection.execute(query, {})
    except psycopg.errors.InsufficientPrivilege:
        raise
    except (psycopg.ProgrammingError, psycopg.DataError, psycopg.NotSupportedError) as error:
        problems.append(Problem(key, f"the server refuses the expression: {error.diag.message_primary}"))
        return None
    assert cursor.description is not None  # noqa: S101  # a SELECT has columns
    row = connection.execute(
        "SELECT format_type(%(oid)s::oid, -1)", {"oid": cursor.description[0].type_code}
    ).fetchone()
    return str(row[0]) if row else None
