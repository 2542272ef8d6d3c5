"""Which values a column of the job table would take only rounded or shortened, without an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql

from pgq_ops.job_table.columns import NUMBER_TYPES
from pgq_ops.job_table.quoting import type_name

if TYPE_CHECKING:
    from pgq_ops.binding.catalog import CatalogColumn

_TIMES = frozenset(f"{name} {zone} time zone" for name in ("time", "timestamp") for zone in ("with", "without")) | {
    "date",
    "interval",
}
# Equal however they are written: 2.50 and 2.5. Others are compared by their text.
_COMPARED = NUMBER_TYPES | _TIMES | {"inet", "bit", "bit varying"}
_TEXTS = frozenset({"text", "character varying", "character"})
# Reading a text, these leave out what they have no place for; any other one fails, or keeps all of it.
_LEAVING_OUT = (_TIMES - {"interval"}) | {"name", "real", "double precision"}


def is_cut(value: sql.Composable, stored: CatalogColumn, job: CatalogColumn) -> sql.Composable | None:
    """Whether a value of the column `stored` is another one after it was in the column `job`; None where none can be.

    Computing it fails where the value is beyond what that can hold.
    """
    # Of a varchar the length is left to the database, which refuses a longer text where a cast would cut it.
    wanted = job.type_name if job.length is None else job.base_type
    narrowed, whole = _cast(value, wanted), _cast(value, job.base_type)
    if stored.base_type == job.base_type:
        if wanted in (job.base_type, stored.type_name):
            return None
        return _differ(narrowed, value, stored.base_type)
    if stored.base_type not in _TEXTS:
        return _differ(_cast(narrowed, stored.base_type), value, stored.base_type)
    conditions = []
    if job.base_type in _LEAVING_OUT:
        conditions.append(_differ(whole, value, ""))
    if wanted != job.base_type:
        conditions.append(_differ(narrowed, whole, job.base_type))
    return sql.SQL("({})").format(sql.SQL(" OR ").join(conditions)) if conditions else None


def _differ(left: sql.Composable, right: sql.Composable, kind: str) -> sql.Composable:
    """Whether two values, of type `kind` where they are compared as such, differ."""
    comparison = sql.SQL("{} IS DISTINCT FROM {}")
    if kind.removesuffix("[]") in _COMPARED:
        return comparison.format(left, right)
    return comparison.format(_cast(left, "text"), _cast(right, "text"))


def _cast(value: sql.Composable, kind: str) -> sql.Composable:
    return sql.SQL("({})::{}").format(value, type_name(kind))
