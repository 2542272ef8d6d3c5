"""When the demo does what, and the numbers it gives to workers and agent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

# Short, so that a run of half a minute shows many recoveries; four heartbeats a lease still leave a
# busy machine half a second for each.
LEASE = timedelta(seconds=2)
REAP_EVERY = timedelta(seconds=1)
BACKOFF_BASE = timedelta(milliseconds=200)
BACKOFF_MAX = timedelta(seconds=1)
MAX_ATTEMPTS = 3

# One cycle of a stranded job: its lease ends, the reaper comes by, the backoff passes.
RECOVERY = LEASE + REAP_EVERY + BACKOFF_MAX

# A worker that hangs is woken at the latest so long after its job should have been taken back.
LONGEST_HANG = LEASE + 4 * REAP_EVERY

# While the queue drains, nothing happens for so long only if nothing will happen any more.
STALLED_AFTER = RECOVERY + 2 * REAP_EVERY + timedelta(seconds=2)

SHORTEST_SECONDS = 10
_SHORTEST_ACTIVE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Schedule:
    """Seconds since the demo began. Trouble and new jobs end early enough for the queue to drain by `total`."""

    trouble_from: float
    trouble_until: float
    enqueue_until: float
    give_up_at: float

    @classmethod
    def starting_at(cls, now: float, total: float) -> Schedule:
        """Plan a run of `total` seconds of which `now` have gone into starting up."""
        recovery = RECOVERY.total_seconds()
        until = max(now + _SHORTEST_ACTIVE_SECONDS, total - 2 * recovery)
        # A job that strands at the very end may do so until its attempts are used up.
        return cls(
            trouble_from=now,
            trouble_until=until,
            enqueue_until=until + recovery / 2,
            give_up_at=max(total, until + MAX_ATTEMPTS * recovery) + recovery,
        )
