"""What a benchmark hands back: what it measured, and how that stands against the number to reach."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Series:
    """The same thing measured several times; `unit` is "s", "ms", "MB", "%", "jobs/s" or what is counted."""

    name: str
    unit: str
    values: tuple[float, ...]

    @classmethod
    def of(cls, name: str, unit: str, values: Iterable[float]) -> Series:
        """A series of the values; raises ValueError for none, since no number would then be honest."""
        found = tuple(values)
        if not found:
            raise ValueError(f"nothing was measured: {name}")
        return cls(name, unit, found)

    @property
    def median(self) -> float:
        """The value in the middle."""
        return median(self.values)

    def as_json(self) -> dict[str, Any]:
        """Name, unit and every value."""
        return {"name": self.name, "unit": self.unit, "median": self.median, "values": list(self.values)}


@dataclass(frozen=True, slots=True)
class Target:
    """A number to reach: at most `limit`, or at least where `at_most` is False."""

    name: str
    measured: float
    limit: float
    unit: str = ""
    at_most: bool = True

    @property
    def reached(self) -> bool:
        """Whether it was."""
        return self.measured <= self.limit if self.at_most else self.measured >= self.limit

    def as_json(self) -> dict[str, Any]:
        """Name, limit, what was measured and whether that is enough."""
        return {
            "name": self.name,
            "unit": self.unit,
            "at_most" if self.at_most else "at_least": self.limit,
            "measured": self.measured,
            "reached": self.reached,
        }


@dataclass(frozen=True, slots=True)
class Figures:
    """One benchmark's result; `about` says in a sentence what was compared with what."""

    about: str
    series: tuple[Series, ...]
    targets: tuple[Target, ...]

    def as_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            "about": self.about,
            "series": [one.as_json() for one in self.series],
            "targets": [one.as_json() for one in self.targets],
        }


def ratios(numerator: Series, denominator: Series) -> tuple[float, ...]:
    """The ratio of each repetition: both were measured in turn, so what disturbed one disturbed the other."""
    return tuple(one / other for one, other in zip(numerator.values, denominator.values, strict=True))


def percentile(values: Iterable[float], share: float) -> float:
    """The value that `share` (0 to 1) of the values do not exceed. Raises ValueError for none."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("a percentile of nothing")
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
