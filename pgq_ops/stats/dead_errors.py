"""What most of the latest dead letters died of: their errors, alike but for numbers and ids counted as one."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops.stats import dead_letters
from pgq_ops.stats.dead_error_head import error_head

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.dead_filter import DeadFilter
    from pgq_ops.job_table.dead_place import DeadPlace

LOOKED_AT = 500
"""So many errors are read: one behind a hundredth of the jobs is then missed once in 150 times, at some 10 ms."""

_LONGEST = 200
# In this order: a time or a uuid is made of numbers, and of what could be hexadecimal.
_VARYING = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?(?:\d\d)?))?)?)"
    r"|(?P<uuid>\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b)"
    r"|(?P<hex>\b0x[0-9a-f]+\b|\b(?!\d+\b)(?![a-f]+\b)[0-9a-f]{8,}\b)"
    r"|(?P<n>\d+(?:\.\d+)*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """An error with what varies replaced (`<n>`, `<hex>`, `<uuid>`, `<time>`), and how many jobs died of it.

    `error` is None for jobs without any.
    """

    error: str | None
    jobs: int


@dataclass(frozen=True, slots=True)
class DeadErrors:
    """Every error found, the most frequent first, among the `looked_at` jobs that died last."""

    groups: tuple[ErrorGroup, ...] = ()
    looked_at: int = 0


def read(
    connection: Connection, place: DeadPlace, wanted: DeadFilter, *, most: int, through_indexes: bool
) -> DeadErrors:
    """The errors of the last `LOOKED_AT` among the first `most` dead letters meant; nothing where none is mapped.

    Raises ConfigError, the driver's errors.
    """
    if "error" not in place.table.fields:
        return DeadErrors()
    rows = dead_letters.latest(
        connection,
        place,
        wanted,
        [error_head(place)],
        sample=most,
        limit=LOOKED_AT,
        through_indexes=through_indexes,
    )
    found: Counter[str | None] = Counter()
    for error, jobs in Counter(error for (error,) in rows).items():
        found[None if error is None else alike(error)] += jobs
    return _ranked(found)


def together(places: Iterable[DeadErrors]) -> DeadErrors:
    """Several places as one."""
    found: Counter[str | None] = Counter()
    for one in places:
        for group in one.groups:
            found[group.error] += group.jobs
    return _ranked(found)


def alike(error: str) -> str:
    """The beginning of the error without what differs from one job to the next."""
    return " ".join(_VARYING.sub(lambda found: f"<{found.lastgroup}>", error[:_LONGEST]).split())


def _ranked(found: Counter[str | None]) -> DeadErrors:
    groups = sorted(found.items(), key=lambda item: (-item[1], item[0] is None, item[0] or ""))
    return DeadErrors(tuple(ErrorGroup(error, jobs) for error, jobs in groups), found.total())
