"""What became of the rows of one batch, as the statement reports it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

# Enough to find them again; a mass of jobs is not listed in a log line.
MOST_IDS = 10


class Group(NamedTuple):
    """Rows that share a fate. `written`: the change stayed, `ids` has some of them; else `keys` has their addresses."""

    queue: str | None
    buried: bool
    written: bool
    jobs: int
    ids: list[str]
    keys: list[str] | None


@dataclass(frozen=True, slots=True)
class Batch:
    """The rows that a batch locked; `position` is where the next page goes on, None without rows."""

    groups: tuple[Group, ...] = ()
    position: list[str] | None = None

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[Any, ...]]) -> Self:
        """The rows of sql/reap/report_batch.sql."""
        return cls(tuple(Group(*row[:-2]) for row in rows), rows[0][-2] if rows else None)

    @property
    def jobs(self) -> int:
        """How many rows were locked."""
        return sum(group.jobs for group in self.groups)
