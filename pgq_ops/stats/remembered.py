"""What the last looks at the jobs leave for the next one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the last looks left: queues to report even when empty, and the pending jobs' watermark (`Depths`).

    `from_watermark`: begin there at once, since the plain look was cut off lately. `one_by_one`: make each of the
    other looks on its own, since one of them was. `crowded`: as the last look left it, to look briefly there.
    """

    queues: tuple[str | None, ...] = ()
    watermark: float | None = None
    from_watermark: bool = False
    one_by_one: bool = False
    crowded: frozenset[str] = frozenset()
