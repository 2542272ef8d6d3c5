"""Paging: the order in which a relation is gone through, and where the next page begins.

By key where an index finds the running rows (re-selecting from the start costs twice as much while a
snapshot is held, performance.md); by lease where only an index on the lease column helps; without either
by stretches of the heap, so that each statement reads a bounded part of a large table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from psycopg import sql as composing

from pgq_ops.job_table.quoting import identifier, type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.job_table.columns import MappedColumn
    from pgq_ops.job_table.table import JobTable

# 64 MB of heap: tens of milliseconds to read when cached, and never the whole of a large table at once.
STRETCH_BLOCKS = 8_192

Comparison = Literal["", ">", "="]

# The kind of a page that goes on behind a position: each but the first one of a sweep.
GOES_ON: Literal[">"] = ">"


@dataclass(frozen=True, slots=True)
class Page:
    """A condition on the rows to come, with its parameters. Of one order, pages of a `kind` differ in these alone."""

    kind: str
    condition: composing.Composable
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PageOrder:
    """The columns to go by and their types; `stretch` limits it to heap blocks [from, to).

    `indexed`: an index gives the order of the first column.
    """

    columns: tuple[composing.Composable, ...]
    types: tuple[str, ...]
    stretch: tuple[int, int] | None = None
    indexed: bool = False
    # To put one together takes a tenth of a batch's time on the client.
    _conditions: dict[str, composing.Composable] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def by_key(cls, table: JobTable) -> PageOrder:
        """By the row's address."""
        return cls(tuple(table.key_columns()), tuple(table.key_types()))

    @classmethod
    def by_lease(cls, table: JobTable, lease: MappedColumn) -> PageOrder:
        """By the one lease column, then the address: oldest first. Rows without a lease are left out."""
        return cls((lease.value, *table.key_columns()), (lease.base_type, *table.key_types()), indexed=True)

    @classmethod
    def by_stretch(cls, first_block: int) -> PageOrder:
        """By place in the heap, within one stretch."""
        return cls((composing.SQL("j.ctid"),), ("tid",), (first_block, first_block + STRETCH_BLOCKS))

    def terms(self) -> composing.Composable:
        """The ORDER BY list over `j`."""
        return composing.SQL(", ").join(self.columns)

    def carried(self) -> composing.Composable:
        """The same columns as `taken` carries them."""
        return composing.SQL(", ").join(
            composing.SQL("{} AS {}").format(part, name)
            for part, name in zip(self.columns, self._carried_names(), strict=True)
        )

    def position(self) -> composing.Composable:
        """The position of a row of `taken`, each part as text."""
        return composing.SQL(", ").join(composing.SQL("taken.{}::text").format(name) for name in self._carried_names())

    def first_first(self) -> composing.Composable:
        """The ORDER BY list over `taken`."""
        return composing.SQL(", ").join(self._carried_names())

    def last_first(self) -> composing.Composable:
        """The ORDER BY list over `taken`, the other way round."""
        return composing.SQL(", ").join(composing.SQL("taken.{} DESC").format(name) for name in self._carried_names())

    def first(self) -> Page:
        """The page to begin with."""
        return self._page(None, "")

    def after(self, position: Sequence[str]) -> Page:
        """The rows behind a position."""
        return self._page(position, GOES_ON)

    def only(self, position: Sequence[str]) -> Page:
        """The one row at a position."""
        return self._page(position, "=")

    def _carried_names(self) -> list[composing.Composable]:
        return [identifier(f"pgq_ops_order_{number}") for number in range(1, len(self.columns) + 1)]

    def _page(self, position: Sequence[str] | None, comparison: Comparison) -> Page:
        if comparison not in self._conditions:
            self._conditions[comparison] = self._condition(comparison)
        parameters: dict[str, Any] = {}
        if self.stretch is not None:
            parameters = {"block_from": f"({self.stretch[0]},0)", "block_to": f"({self.stretch[1]},0)"}
        if position is not None:
            parameters |= dict(zip(self._position_names(), position, strict=True))
        return Page(comparison, self._conditions[comparison], parameters)

    def _condition(self, comparison: Comparison) -> composing.Composable:
        """That of all pages of a kind."""
        conditions: list[composing.Composable] = []
        if self.stretch is not None:
            conditions.append(composing.SQL("j.ctid >= %(block_from)s::tid AND j.ctid < %(block_to)s::tid"))
        if comparison:
            values = composing.SQL(", ").join(
                composing.SQL("{}::{}").format(composing.Placeholder(name), type_name(kind))
                for name, kind in zip(self._position_names(), self.types, strict=True)
            )
            columns, operator = composing.SQL(", ").join(self.columns), composing.SQL(comparison)
            conditions.append(composing.SQL("({}) {} ({})").format(columns, operator, values))
        return composing.SQL(" AND ").join(conditions) if conditions else composing.SQL("true")

    def _position_names(self) -> list[str]:
        return [f"position_{number}" for number in range(1, len(self.columns) + 1)]
