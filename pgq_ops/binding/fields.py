"""Maps the design's words to the table's columns and expressions, and checks that their types fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql as composing

from pgq_ops.binding.epoch_units import unit_in_name, units_in_rows
from pgq_ops.errors import Problem
from pgq_ops.job_table.columns import NUMBER_TYPES, MappedColumn, TimeKind, column
from pgq_ops.job_table.quoting import expression, type_name

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
            return self._map_expression(key, spec.sql, may_be_left_out=field == "payload")
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
        if field == "payload" and not known.readable:
            self._leave_out(key)
            return None
        found = MappedColumn(
            value=_comparable(known),
            type_name=known.type_name,
            base_type=known.base_type,
            name=None if known.generated else name,
            not_null=known.not_null,
            length=known.length,
        )
        if field in INTEGERS and known.base_type not in NUMBER_TYPES:
            self.problems.append(Problem(key, f"column {name!r} is {known.type_name}", "it must be an integer"))
        return found

    def _leave_out(self, key: str) -> None:
        self.notes.append(f"{key}: the role may not read it, left out (`pgq-ops grants --payload` would let it)")

    def _map_expression(self, key: str, text: str, *, may_be_left_out: bool) -> MappedColumn | None:
        value = expression(text)
        try:
            type_name = expression_type(self.connection, self.relation, value, key, self.problems)
        except psycopg.errors.InsufficientPrivilege:
            if not may_be_left_out:
                raise
            self._leave_out(key)
            return None
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
        self._decide_units(mapped, wanted, epochs)
        return mapped

    def _decide_units(
        self, mapped: dict[str, MappedColumn], wanted: Mapping[str, Column], epochs: Mapping[str, MappedColumn]
    ) -> None:
        """The unit that is given; else that of the column's rows, of its name, of the other columns, in this order."""
        seen = {field: units_in_rows(self.connection, self.relation, epoch) for field, epoch in epochs.items()}
        elsewhere = frozenset[str]().union(*seen.values())
        for field, epoch in epochs.items():
            named = unit_in_name(wanted[field].name)
            units = seen[field] or (frozenset({named}) if named else elsewhere)
            if given := wanted[field].unit:
                units = frozenset({given})
            if len(units) == 1:
                mapped[field] = replace(epoch, time=TimeKind(*units))
                continue
            shown = repr(wanted[field].name or wanted[field].sql)
            what = f"the rows of {shown} are in several units" if seen[field] else f"no row tells the unit of {shown}"
            hint = f'write {field} = {{ column = "{wanted[field].name}", unit = "ms" }}, or "s" or "us"'
            self.problems.append(Problem(f"{self.key}.columns.{field}", what, hint))


def _comparable(known: CatalogColumn) -> composing.Composable:
    """The column as it can be compared with a constant: a domain over an enum has no such operator, its base has."""
    if known.type_kind == "e" and known.type_name != known.base_type:
        return composing.SQL("{}::{}").format(column(known.name), type_name(known.base_type))
    return column(known.name)


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
    query = composing.SQL("SELECT {} FROM {} AS j LIMIT %(rows)s").format(value, relation.sql)
    try:
        # With a parameter the server takes one statement only, so an expression cannot smuggle in another.
        cursor = connection.execute(query, {"rows": 0})
    except psycopg.errors.InsufficientPrivilege:
        raise
    except (psycopg.ProgrammingError, psycopg.DataError, psycopg.NotSupportedError) as error:
        problems.append(Problem(key, f"the server refuses the expression: {error.diag.message_primary}"))
        return None
    assert cursor.description is not None  # noqa: S101  # a SELECT has columns
    row = connection.execute(
        "SELECT pg_catalog.format_type(%(oid)s::oid, -1)", {"oid": cursor.description[0].type_code}
    ).fetchone()
    return str(row[0]) if row else None
