"""What the probes of the whole database remember between two looks."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pgq_ops.stats.blocking import Blocking
    from pgq_ops.stats.horizon import Horizon
    from pgq_ops.stats.transactions import Transactions


@dataclass(slots=True)
class DatabaseMemory:
    """The memory of one database's probes; `now()` is monotonic seconds.

    `tables`: of each job table that is collected its oid and, as far as they are known, its leaves'. The rows of the
    last look are None once it failed. `kept` is for a probe's own use, by its name.
    """

    database: str
    now: Callable[[], float] = time.monotonic
    warn_after_seconds: float = 60.0
    tables: Mapping[str, frozenset[int]] = field(default_factory=dict)
    horizon: Horizon | None = None
    transactions: Transactions | None = None
    blocking: Blocking | None = None
    kept: dict[str, Any] = field(default_factory=dict)

    def drop_rows(self, probe: str) -> None:
        """Forget the rows of a probe that failed: they must not be judged again."""
        if probe == "horizon":
            self.horizon = None
        if probe == "transactions":
            self.transactions = self.blocking = None
