"""How fast the rows of a leaf change."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Churn:
    """Rows a second, as counted over the last `seconds`."""

    seconds: float
    inserted: float
    updated: float
    deleted: float

    @property
    def dying(self) -> float:
        """Rows that die a second: by each update, HOT or not, and each delete."""
        return self.updated + self.deleted
