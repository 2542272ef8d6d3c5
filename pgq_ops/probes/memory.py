"""What the probes of one job table remember between two looks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.job_table.queue_labels import QueueLabels
    from pgq_ops.stats.index_support import IndexSupport
    from pgq_ops.stats.leases import Leases
    from pgq_ops.stats.queue_depths import Depths, Watermark

# An index that was made or dropped, or a table that grew, is noticed after this long.
SUPPORT_SECONDS = 120.0


@dataclass(slots=True)
class Memory:
    """The memory of one job table's probes; `now()` is monotonic seconds.

    `depths` and `leases` are the rows of the last look, None once it failed.
    """

    database: str
    labels: QueueLabels
    now: Callable[[], float] = time.monotonic
    depths: Depths | None = None
    leases: Leases | None = None
    support: IndexSupport | None = None
    support_read_at: float = 0.0
    watermark: Watermark | None = None
    plain_look_at: float = 0.0
    """Before this moment the look at pending jobs starts from the watermark."""
    finished_until: float | None = None
    """Epoch seconds, database clock: jobs that finished until then are counted."""
    finished: dict[tuple[str, str], int] = field(default_factory=dict)
    """Finished jobs counted so far, by queue label and state."""
