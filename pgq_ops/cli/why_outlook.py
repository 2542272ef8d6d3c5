"""What becomes of a running job, and when: the reaper's own conditions, looked at from one job."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.cli.why_facts import JobFacts

# A pass that is missed may be chance, three are not.
_PASSES = 3
# From the moment that a pass is due until what it changes is committed: an idle pass takes milliseconds.
_PASS_SECONDS = 0.5


class Obstacle(StrEnum):
    """Why nothing takes the job back, not even when its lease is over."""

    PROBLEM = "problem"
    SWITCHED_OFF = "switched off"
    STALE = "stale"
    NO_LEASE = "no lease"
    ENDLESS = "endless lease"


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a reaper does with the job and how soon.

    `within_seconds`: by then an agent that runs has taken it back, unless the worker renews its lease; None with an
    `obstacle`. `over`: it can be taken back now. `late`: it should have been. `settling`: only after
    reaper.settle, since the database has just started. `buries` and `delay_seconds` (shortest
    and longest) tell how; None where attempts are not known, and for a burial.
    """

    obstacle: Obstacle | None
    over: bool = False
    within_seconds: float | None = None
    late: bool = False
    settling: bool = False
    buries: bool | None = None
    delay_seconds: tuple[float, float] | None = None


def outlook(facts: JobFacts) -> Outlook | None:
    """The outlook of a running job; None for any other."""
    life, policy = facts.life, facts.life.policy
    if life.state != "running":
        return None
    obstacle, left = _until_over(facts)
    delay = None
    if life.buries is False and life.delay_seconds is not None:
        delay = life.delay_seconds * (1 - policy.reaper.backoff.jitter), life.delay_seconds
    over = left is not None and left <= 0
    if obstacle is not None or left is None:
        return Outlook(obstacle, over=obstacle is Obstacle.STALE, buries=life.buries, delay_seconds=delay)
    every = policy.reaper.every.total_seconds()
    settle = policy.reaper.settle.total_seconds()
    patience = settle + _PASSES * every
    settling = settle - facts.reaper.uptime_seconds
    wait = max(left, settling, 0.0)
    run = facts.reaper.run
    since = run.seconds_ago if not wait and run is not None and run.seconds_ago < every else 0.0
    return Outlook(
        None,
        over=over,
        within_seconds=wait + every - since + _PASS_SECONDS,
        late=min(-left, facts.reaper.uptime_seconds) > patience,
        settling=settling > max(left, 0.0),
        buries=life.buries,
        delay_seconds=delay,
    )


def _until_over(facts: JobFacts) -> tuple[Obstacle | None, float | None]:
    """What stands in the way; the seconds until the reaper may take the job, grace included."""
    life, policy = facts.life, facts.life.policy
    if facts.reaper.problem:
        return Obstacle.PROBLEM, None
    if not policy.reaper.enabled:
        return Obstacle.SWITCHED_OFF, None
    if life.lease == "stale":
        return Obstacle.STALE, None
    return _until_missing_is_over(facts) if life.lease == "missing" else _until_lease_is_over(facts)


def _until_lease_is_over(facts: JobFacts) -> tuple[Obstacle | None, float | None]:
    """By the server's own comparison, whatever rounding makes of ours; an end of `-infinity` is over."""
    life = facts.life
    end = life.times.get("lease_expires_at")
    if life.lease == "expired":
        ended = None if end is None else end.seconds_ago
        return None, 0.0 if ended is None else min(0.0, life.policy.lease.grace.total_seconds() - ended)
    if end is None or end.seconds_ago is None:
        return Obstacle.ENDLESS, None
    return None, max(life.policy.lease.grace.total_seconds() - end.seconds_ago, 0.001)


def _until_missing_is_over(facts: JobFacts) -> tuple[Obstacle | None, float | None]:
    after = facts.life.policy.lease.missing_after
    since = facts.life.times.get("leased_at") or facts.life.times.get("created_at")
    if after is None or since is None or since.at == "infinity":
        return Obstacle.NO_LEASE, None
    return None, 0.0 if since.seconds_ago is None else after.total_seconds() - since.seconds_ago
