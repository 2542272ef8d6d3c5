"""What the vacuums of a leaf did and how long they took, as far as looks one after another tell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VacuumRuns:
    """The vacuums seen so far. `removed_rows`: of dead rows, in median. `seconds`: that they took, in median.

    `interval_seconds`: between their ends, in median. `skipped_indexes`: the last one left the dead entries in the
    indexes. Each is None where it is not known.
    """

    count: int = 0
    removed_rows: int | None = None
    seconds: float | None = None
    interval_seconds: float | None = None
    skipped_indexes: bool | None = None
