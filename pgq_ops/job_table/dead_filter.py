"""Which dead letters are meant: what a person asks for, before any table is looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta


@dataclass(frozen=True, slots=True)
class DeadFilter:
    """Dead letters that fulfil every condition that is given; all of them where none is.

    `queue` and `kind` are exact, `queue` as it is shown (`(null)`, `(empty)`, a digest at the end included).
    `older_than` and `newer_than` are ages since the death, both excluding jobs whose age is unknown. Where it is not
    known when a job died, they are ages since its creation, unless `deaths_alone`. `error` is a part of the error's
    text, taken literally, whatever its case. `ids` are the mapped ids as text.
    """

    queue: str | None = None
    kind: str | None = None
    older_than: timedelta | None = None
    newer_than: timedelta | None = None
    error: str | None = None
    ids: tuple[str, ...] = ()
    deaths_alone: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether no condition is given, so that all dead letters are meant."""
        return replace(self, deaths_alone=False) == DeadFilter()

    @property
    def by_age(self) -> bool:
        """Whether an age is asked for."""
        return self.older_than is not None or self.newer_than is not None
