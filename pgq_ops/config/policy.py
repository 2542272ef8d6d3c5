"""When a lease counts as expired, and what becomes of the job: for a table, and for single queues of it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from pgq_ops.config.duration import Duration, Interval, PositiveDuration
from pgq_ops.config.section import Section

Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]  # what PostgreSQL's integer holds


class Lease(Section):
    """When a lease ends."""

    timeout: PositiveDuration | None = None
    grace: Duration = timedelta(0)
    missing_after: PositiveDuration | None = None
    max_runtime: PositiveDuration | None = None


class Backoff(Section):
    """How long a requeued job waits: min(max, base * factor ** attempts) * (1 - jitter * random)."""

    base: PositiveDuration = timedelta(seconds=10)
    factor: Annotated[float, Field(ge=1, le=1000)] = 2.0
    max: PositiveDuration = timedelta(hours=1)
    jitter: Fraction = 0.1


class MassExpiry(Section):
    """When so many leases expire at once that the agent goes slowly: more than both of these are expired."""

    fraction: Fraction = 0.5
    minimum: Count = 100


class Reaper(Section):
    """How expired leases are taken back."""

    enabled: bool = True
    every: Interval = timedelta(seconds=10)
    max_attempts: Count = 5
    attempts_counted_at: Literal["claim", "reap"] = "claim"
    backoff: Backoff = Backoff()
    batch_size: Annotated[int, Field(ge=1, le=10_000)] = 500
    settle: Duration = timedelta(minutes=1)
    max_expired_age: PositiveDuration = timedelta(hours=24)
    mass_expiry: MassExpiry = MassExpiry()
    dead_letter_table: Annotated[str, Field(min_length=1)] | None = None
    dead_letter_cascade: bool = False


class Slo(Section):
    """What the users of the queue were promised."""

    oldest_ready: PositiveDuration = timedelta(minutes=5)


class QueueOverride(Section):
    """The lease, reaper and slo keys that differ for one queue. Only the keys that were given count."""

    lease: Lease = Lease()
    reaper: Reaper = Reaper()
    slo: Slo = Slo()


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """What holds for one queue; `queue` is None for every queue that has no policy of its own."""

    queue: str | None
    lease: Lease
    reaper: Reaper
    slo: Slo
