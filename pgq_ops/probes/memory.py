"""What the probes of one job table remember between two looks."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pgq_ops.stats import index_support

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.queue_labels import QueueLabels
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.bounded import Rows
    from pgq_ops.stats.claim_cost import ClaimCost
    from pgq_ops.stats.claim_statements import ClaimStatements
    from pgq_ops.stats.depth import Depths
    from pgq_ops.stats.index_bloat import IndexBloat
    from pgq_ops.stats.index_states import IndexState
    from pgq_ops.stats.index_support import IndexSupport
    from pgq_ops.stats.leases import Leases
    from pgq_ops.stats.ready_locked import ReadyLocked
    from pgq_ops.stats.table_health import TableHealth

# What a probe leaves in the memory, where it is no more than its last look.
_ROWS = {
    "jobs": "depths",
    "leases": "leases",
    "claim": "claim",
    "claim_statements": "claim_statements",
    "ready_locked": "ready_locked",
    "table": "health",
    "index_bloat": "index_bloat",
    "leftover_indexes": "leftover_indexes",
}


@dataclass(slots=True)
class Memory:
    """The memory of one job table's probes; `now()` is monotonic seconds.

    The rows of the last look (`depths`, `leases`, `claim`, ...) are None once it failed. `kept` is for a probe's own
    use, by its name.
    """

    database: str
    labels: QueueLabels
    now: Callable[[], float] = time.monotonic
    depths: Depths | None = None
    leases: Leases | None = None
    support: IndexSupport | None = None
    support_until: float = 0.0
    """Before this moment `support` need not be asked for anew."""
    watermark: float | None = None
    """Epoch seconds, database clock: no pending job was available before it when they were last looked at."""
    plain_look_at: float = 0.0
    """Before this moment the look at pending jobs starts from the watermark."""
    dear_looks: int = 0
    """How many of the looks at all pending jobs were dear, one after another."""
    one_by_one_until: float = 0.0
    """Before this moment the looks at the other states are not made together."""
    crowded: frozenset[str] = frozenset()
    crowded_until: float = 0.0
    """Before this moment the `crowded` states (`Depths`) are looked at briefly."""
    finished_until: float | None = None
    """Epoch seconds, database clock: jobs that finished until then are counted."""
    finished: dict[tuple[str, str], int] = field(default_factory=dict)
    """Finished jobs counted so far, by queue label and state."""

    claim: ClaimCost | None = None
    best_claim: ClaimCost | None = None
    """The cheapest claim seen so far."""
    claim_statements: ClaimStatements | None = None
    ready_rows: Rows | None = None
    """What the look at the ready jobs returned, where it was made together with the claim's."""
    ready_locked: ReadyLocked | None = None
    health: TableHealth | None = None
    index_bloat: tuple[IndexBloat, ...] | None = None
    leftover_indexes: tuple[IndexState, ...] | None = None
    kept: dict[str, Any] = field(default_factory=dict)

    def supported(self, connection: Connection, table: JobTable) -> IndexSupport:
        """Which questions are cheap: as the probe `indexes` found, or asked now. Raises the driver's errors."""
        if self.support is None:
            self.support = index_support.read(connection, table)
        return self.support

    def drop_rows(self, probe: str) -> None:
        """Forget the rows of a probe that failed: they must not be judged again."""
        if (rows := _ROWS.get(probe)) is not None:
            setattr(self, rows, None)
