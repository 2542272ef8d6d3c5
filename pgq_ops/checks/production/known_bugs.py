"""Defects of PostgreSQL that hurt job queues, by the release that mended them, from its release notes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SUPPORT_ENDS = {
    14: date(2026, 11, 12),
    15: date(2027, 11, 11),
    16: date(2028, 11, 9),
    17: date(2029, 11, 8),
    18: date(2030, 11, 14),
}
"""The last minor release of each major (postgresql.org/support/versioning)."""


@dataclass(frozen=True, slots=True)
class KnownBug:
    """`mended`: by major, the minor release with the fix; majors that are not there never had it."""

    what: str
    mended: Mapping[int, int]
    partitioned_only: bool = False

    def is_in(self, major: int, minor: int) -> bool:
        """Whether that release has it."""
        return minor < self.mended.get(major, 0)


KNOWN_BUGS = (
    KnownBug("indexes made or rebuilt CONCURRENTLY may lack rows", {14: 4}),
    KnownBug("an UPDATE beside a VACUUM can stop the whole server", {14: 6, 15: 1}),
    KnownBug(
        "a partition that is detached loses the triggers of its foreign keys",
        {14: 14, 15: 9, 16: 5, 17: 1},
        partitioned_only=True,
    ),
    KnownBug(
        "a claim by ctid may take a row that has changed since it was found",
        {14: 20, 15: 15, 16: 11, 17: 7, 18: 1},
    ),
    KnownBug(
        "locking a row that others change may lock an unrelated one",
        {14: 21, 15: 16, 16: 12, 17: 8, 18: 2},
    ),
    KnownBug(
        "LISTEN fails with 'could not access status of transaction' after VACUUM",
        {14: 21, 15: 16, 16: 12, 17: 8, 18: 2},
    ),
)
