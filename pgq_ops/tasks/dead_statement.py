"""One batch of dead letters as one statement in one transaction: what retrying and purging have in common."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.job_table.quoting import identifier

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.dead_place import DeadPlace
    from pgq_ops.job_table.dead_selection import Selection
    from pgq_ops.job_table.table import Relation
    from pgq_ops.tasks.reap_page import Page, PageOrder


class DeadRow(NamedTuple):
    """A dead letter that a batch locked: its address, the job's id, its position in the page's order.

    `refusal` says why it is still there, None where it was changed. `due_at`: when a retried one is due, epoch seconds;
    `attempts_left`: how many runs it then has left, None for as many as a new job.
    """

    key: str
    id: str | None
    position: list[str]
    refusal: str | None = None
    due_at: float | None = None
    attempts_left: int | None = None


class DeadStatement(Protocol):
    """What a sweep does batch by batch."""

    @property
    def take(self) -> Take:
        """Which rows it takes."""
        ...

    def run(self, connection: Connection, page: Page, limit: int, before: int) -> list[DeadRow]:
        """Change up to `limit` rows of the page and commit; `before`: how many were changed so far.

        The rows come in the page's order. Raises the driver's errors and ActionFailed, and then nothing was changed.
        """
        ...

    def transaction(self, connection: Connection) -> AbstractContextManager[None]:
        """A transaction, or a part of one, around `run`: what is not committed leaves no trace elsewhere either."""
        ...

    def fitting(self, connection: Connection, page: Page, limit: int) -> int:
        """How many of the page's first `limit` rows a batch may take: fewer where they are large, one at least."""
        ...

    def explain(self, connection: Connection, page: Page) -> None:
        """Only plan a batch, which takes every lock that it needs on tables; raises the driver's LockNotAvailable."""
        ...

    def without_log(self) -> DeadStatement | None:
        """The same without a log that somebody holds; None where it writes none, or must."""
        ...


@dataclass(frozen=True, slots=True)
class Take:
    """Which rows of a relation (the place or one of its leaves) are taken, in which order, under which lock."""

    place: DeadPlace
    relation: Relation
    selection: Selection
    order: PageOrder
    moving: bool
    carried: Mapping[str, composing.Composable] = field(default_factory=dict)

    def fragments(self) -> dict[str, composing.Composable]:
        """What the statements of this folder share."""
        table = self.place.table
        carried = self.carried or {"pgq_ops_nothing": composing.SQL("NULL")}
        return {
            "table": self.relation.sql,
            "key_columns": _listed(
                {f"pgq_ops_key_{number}": part for number, part in enumerate(table.key_columns(), 1)}
            ),
            "key_text": table.key_text(),
            "shown_id": self.place.shown_id(),
            "condition": self.selection.condition,
            "same_row": table.same_row("taken"),
            "carried": _listed(carried),
            "carried_order": self.order.carried(),
            "order": self.order.terms(),
            "position": self.order.position(),
            "last_first": self.order.last_first(),
            "lock": composing.SQL("FOR UPDATE" if self.moving else "FOR NO KEY UPDATE"),
        }

    def query(self, page: Page) -> composing.Composed:
        """The locking SELECT of a page."""
        return sql.statement("dead/take", self.fragments() | {"page": page.condition})

    def parameters(self, page: Page, limit: int) -> dict[str, Any]:
        """The parameters of `query`."""
        return {**self.selection.parameters, **page.parameters, "limit": limit}

    def peek(self, connection: Connection, page: Page) -> DeadRow | None:
        """Lock the first row of the page that can be had, inside the caller's transaction; None where there is none."""
        query = composing.SQL("SELECT taken.pgq_ops_key, taken.pgq_ops_id, ARRAY[{}]::text[] FROM ({}) AS taken")
        # Without what is carried, which may be what cannot be computed of this row.
        composed = query.format(self.order.position(), replace(self, carried={}).query(page))
        row = connection.execute(composed, self.parameters(page, 1)).fetchone()
        return None if row is None else DeadRow(*row)


def discarded(place: DeadPlace) -> str:
    """Why a row that was locked was not changed, though nothing failed.

    Without a key a row is found by its place in the table, where another session's change is no longer.
    """
    trigger = "a trigger of the table discarded the change without an error"
    return trigger if place.table.key else f"it was changed at that very moment, or {trigger}"


def _listed(named: Mapping[str, composing.Composable]) -> composing.Composable:
    return composing.SQL(", ").join(
        composing.SQL("{} AS {}").format(value, identifier(name)) for name, value in named.items()
    )
