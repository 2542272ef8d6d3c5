"""What a running task asks before each batch."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta


@dataclass(slots=True)
class RunGuard:
    """Lets one run go on while the agent does, its time lasts and the connection still leads.

    `may_act` is asked each time. The first batch is not refused for time, so that every run gets somewhere.
    `out_of_time` tells afterwards that there may be more to do.
    """

    may_act: Callable[[], bool]
    budget: timedelta
    out_of_time: bool = False
    _asked: bool = False
    _began: float = field(default_factory=time.monotonic)

    def __call__(self) -> bool:
        """Whether the next batch may begin."""
        if not self.may_act():
            return False
        self.out_of_time = self._asked and time.monotonic() - self._began >= self.budget.total_seconds()
        self._asked = True
        return not self.out_of_time
