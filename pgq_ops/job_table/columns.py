"""Mapped columns with what the catalog says of them, and the kinds of time a table can keep."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from psycopg import sql

from pgq_ops.job_table.quoting import identifier, literal, type_name


class TimeKind(Enum):
    """How a point in time is stored."""

    TIMESTAMPTZ = "timestamptz"
    TIMESTAMP = "timestamp"
    EPOCH_SECONDS = "s"
    EPOCH_MILLISECONDS = "ms"
    EPOCH_MICROSECONDS = "us"


_PER_SECOND = {TimeKind.EPOCH_SECONDS: 1, TimeKind.EPOCH_MILLISECONDS: 1_000, TimeKind.EPOCH_MICROSECONDS: 1_000_000}
# Times beyond the year 8300 stand for "never" (2^63 - 1, NaN and the like): no timestamp could hold the largest, and
# one near the end of its type breaks every statement that adds to it or gives it a zone.
_NEVER_SECONDS = 2e11
NEVER_FROM, _NEVER_UNTIL = "8300-01-01", "4700-01-01 BC"

INTEGER_TYPES = {"smallint": 2**15 - 1, "integer": 2**31 - 1, "bigint": 2**63 - 1}
NUMBER_TYPES = frozenset({*INTEGER_TYPES, "numeric", "real", "double precision"})


@dataclass(frozen=True, slots=True)
class MappedColumn:
    """One field of the mapping: a column of the table, or (name None) an expression that is only read.

    `value` reads it from the alias `j`; `type_name` is the catalog's `format_type()`, `base_type` the same
    without a modifier and with a domain followed to its base; `length` is the limit of a varchar or char.
    """

    value: sql.Composable
    type_name: str
    base_type: str
    name: str | None = None
    not_null: bool = False
    time: TimeKind | None = None
    length: int | None = None

    @property
    def writable_name(self) -> str:
        """The column's name; only for columns that the binding found writable."""
        if self.name is None:
            raise ValueError("an expression cannot be written")
        return self.name


def column(name: str) -> sql.Composable:
    """The column `name` of the row at hand (alias `j`)."""
    return sql.SQL("j.{}").format(identifier(name))


def _never_beyond(
    value: sql.Composable, latest: sql.Composable, earliest: sql.Composable, moment: sql.Composable
) -> sql.Composable:
    """The moment that `value` stands for, infinite where the value (NaN is the largest) lies beyond the bounds."""
    return sql.SQL("(CASE WHEN {0} > {1} THEN 'infinity' WHEN {0} < {2} THEN '-infinity' ELSE {3} END)").format(
        value, latest, earliest, moment
    )


@dataclass(frozen=True, slots=True)
class Clock:
    """Turns a table's times into timestamptz and back; `zone` is what naive timestamps mean."""

    zone: str

    def to_timestamptz(self, mapped: MappedColumn) -> sql.Composable:
        """The column as timestamptz; infinite stays infinite."""
        if mapped.time is TimeKind.TIMESTAMPTZ:
            return mapped.value
        if mapped.time is TimeKind.TIMESTAMP:
            moment = sql.SQL("{}::timestamp AT TIME ZONE {}").format(mapped.value, literal(self.zone))
            return _never_beyond(mapped.value, literal(NEVER_FROM), literal(_NEVER_UNTIL), moment)
        seconds = sql.SQL("({}::double precision / {})").format(mapped.value, literal(self._scale(mapped)))
        moment = sql.SQL("pg_catalog.to_timestamp({})").format(seconds)
        return _never_beyond(seconds, literal(_NEVER_SECONDS), literal(-_NEVER_SECONDS), moment)

    def finite(self, mapped: MappedColumn) -> sql.Composable:
        """The column as timestamptz, NULL where it is infinite (an age of it could not be computed)."""
        return sql.SQL("CASE WHEN pg_catalog.isfinite({0}) THEN {0} END").format(self.to_timestamptz(mapped))

    def written(self, moment: sql.Composable, mapped: MappedColumn) -> sql.Composable:
        """A timestamptz as the column stores it; an integer is rounded up, so that nothing is due early."""
        return self._as_column(moment, mapped, "ceil")

    def compared(self, moment: sql.Composable, mapped: MappedColumn) -> sql.Composable:
        """A timestamptz in the column's own type, so that an index on it can be used; an integer is rounded down."""
        return self._as_column(moment, mapped, "floor")

    def _as_column(self, moment: sql.Composable, mapped: MappedColumn, rounding: str) -> sql.Composable:
        if mapped.time is TimeKind.TIMESTAMPTZ:
            return moment
        if mapped.time is TimeKind.TIMESTAMP:
            return sql.SQL("({} AT TIME ZONE {})").format(moment, literal(self.zone))
        value = sql.SQL("(extract(epoch FROM {}) * {})").format(moment, literal(self._scale(mapped)))
        if mapped.base_type in INTEGER_TYPES:
            value = sql.SQL("{}{}").format(sql.SQL(rounding), value)
        # A real is two minutes wide in our days: now must not be rounded to one.
        exact = "double precision" if mapped.base_type == "real" else mapped.base_type
        return sql.SQL("{}::{}").format(value, type_name(exact))

    def is_past(self, mapped: MappedColumn) -> sql.Composable:
        """Whether the column lies at or before now, by the database's clock."""
        return self._before(mapped, sql.SQL("pg_catalog.now()"))

    def ran_out(self, mapped: MappedColumn, lag_seconds: sql.Composable) -> sql.Composable:
        """Whether the column lies at least `lag_seconds` before now, by the database's clock."""
        return self._before(
            mapped, sql.SQL("(pg_catalog.now() - pg_catalog.make_interval(secs => {}))").format(lag_seconds)
        )

    def _before(self, mapped: MappedColumn, moment: sql.Composable) -> sql.Composable:
        return sql.SQL("{} <= {}").format(mapped.value, self.compared(moment, mapped))

    @staticmethod
    def _scale(mapped: MappedColumn) -> float:
        if mapped.time is None:
            raise ValueError(f"{mapped.name} is not a time")
        return float(_PER_SECOND[mapped.time])
