"""How busy a leaf is at a moment, by its counters alone: asked more often than the whole look at a table's health."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pgq_ops import sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.stats.table_health import LeafHealth


class Pulse(NamedTuple):
    """Counters since the statistics began. `dead`: None where it is not known. `at`: epoch seconds, database clock."""

    inserted: int
    updated: int
    hot_updated: int
    deleted: int
    dead: int | None
    vacuums: int
    at: float

    @property
    def left_behind(self) -> int:
        """Row versions left for VACUUM alone: what a page gives back by itself (HOT) is not among them."""
        return self.updated - self.hot_updated + self.deleted

    @property
    def written(self) -> tuple[int, int, int]:
        """What was written."""
        return self.inserted, self.updated, self.deleted


def of(leaf: LeafHealth, at: float) -> Pulse:
    """As the look at its health has it."""
    return Pulse(leaf.inserted, leaf.updated, leaf.hot_updated, leaf.deleted, leaf.dead_rows, leaf.vacuums, at)


def read(connection: Connection, oids: Sequence[int]) -> Iterator[tuple[int, Pulse]]:
    """Those of tables, by oid. Raises the driver's errors."""
    for oid, *counted in connection.execute(sql.statement("vacuum/pulse"), {"oids": list(oids)}).fetchall():
        yield oid, Pulse(*counted)
