"""What else changes when a row is deleted: the foreign keys of other tables that follow it."""

from __future__ import annotations

from dataclasses import dataclass

_ACTIONS = {"c": "deletes rows of", "n": "sets columns to NULL in", "d": "sets columns to their default in"}


@dataclass(frozen=True, slots=True)
class Cascade:
    """A foreign key by which a deleted row changes `table` (its quoted name); `action` is its letter in the catalog.

    `reaches_itself`: that is the table of the deleted row, or a partition of it.
    """

    constraint: str
    table: str
    action: str
    reaches_itself: bool

    def __str__(self) -> str:
        return f"{self.constraint} {_ACTIONS[self.action]} {self.table}"

    @property
    def deletes_its_like(self) -> bool:
        """Whether other rows of the same table are deleted: jobs of whatever state."""
        return self.reaches_itself and self.action == "c"
