"""When a probe may look again: it spends at most 1 % of the time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# design.md, rule 6: a look that took t is not repeated before 100 t.
_SHARE = 100


@dataclass(slots=True)
class Pace:
    """The earliest next look of each probe of a job table; `clock()` is monotonic seconds."""

    clock: Callable[[], float] = time.monotonic
    _not_before: dict[str, float] = field(default_factory=dict)

    def is_due(self, probe: str) -> bool:
        """Whether the probe may look now."""
        return self.clock() >= self._not_before.get(probe, 0.0)

    def looked(self, probe: str, seconds: float, every_seconds: float = 0.0) -> None:
        """Note a look that ends now, took so long, and need not be repeated sooner than `every_seconds`."""
        self._not_before[probe] = self.clock() - seconds + max(_SHARE * seconds, every_seconds)

    def blocked(self, probe: str) -> None:
        """Note a look that a lock or the connection kept from happening: it cost nothing and may be repeated."""
        self._not_before.pop(probe, None)
