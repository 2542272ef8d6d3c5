"""Why a ready job is not claimed: what is known to stand before it, and what only the workers know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.cli.why_wording import Said, counted, named
from pgq_ops.job_table.queue_labels import shown
from pgq_ops.stats.job_life_line import MOST_AHEAD, MOST_RUNNING
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.cli.why_facts import JobFacts

# The columns that a claim may ask to be NULL, where they can be, as they are of every job that was given back.
_HOLDERS = ("lease_expires_at", "heartbeat_at", "leased_at")


def told(facts: JobFacts) -> Iterator[Said]:
    """The sentences on a ready job; none for any other."""
    if facts.life.state != "ready":
        return
    excluded = [*_excluded(facts)]
    yield from excluded
    line = facts.line
    if line is None:
        return
    order = ", ".join(named(name) + (" desc" if descending else "") for name, descending in facts.table.claim_order)
    by = f" (by {order})" if order else ""
    if line.ahead is None:
        yield Said("How many ready jobs are claimed before it could not be counted in time.")
    elif line.ahead:
        least = " or more" if line.ahead >= MOST_AHEAD else ""
        number = f"{line.ahead:,}{least} ready jobs" if line.ahead > 1 else "1 ready job"
        yield Said(f"{number} of all queues {'are' if line.ahead > 1 else 'is'} claimed before it{by}.")
    else:
        yield Said(f"It is the first in line{by}.")
    yield from _workers(facts, excluded=bool(excluded or facts.lock))


def _excluded(facts: JobFacts) -> Iterator[Said]:
    life = facts.life
    if life.attempts is not None and life.max_attempts is not None and life.attempts >= life.max_attempts:
        yield Said(
            f"Its attempts ({life.attempts:,}) have reached the cap ({life.max_attempts:,}): where the workers' claim"
            " asks for fewer, none takes it."
        )
    fields = facts.table.fields
    left = ["owner"] if life.owner else []
    left += [name for name in _HOLDERS if facts.has(name) and name in life.times]
    left = [name for name in left if not fields[name].not_null]
    if left:
        columns = " and ".join(f"{name} ({named(fields[name].name or name)})" for name in left)
        yield Said(f"It is ready with its {columns} still set: where the workers' claim asks for none, none takes it.")


def _workers(facts: JobFacts, *, excluded: bool) -> Iterator[Said]:
    line = facts.line
    if line is None or line.running is None:
        return
    queue = f" of queue {named(shown(facts.life.queue))}" if facts.has("queue") else ""
    if not line.running:
        yield Said(f"No job{queue} is running now: maybe no worker is at work there, or it is paused.")
        return
    most = " or more" if line.running >= MOST_RUNNING else ""
    yield Said(f"{counted(line.running, 'job')}{most}{queue} {'is' if line.running == 1 else 'are'} running now.")
    if not excluded and not line.ahead and _waits_long(facts):
        promised = format_duration(facts.life.policy.slo.oldest_ready)
        yield Said(
            f"Nothing in the table keeps it from being claimed, and it waits for longer than promised ({promised}):"
            " the workers may be paused, or ask for more than pgq-ops knows of."
        )


def _waits_long(facts: JobFacts) -> bool:
    available = facts.life.times.get("available_at") or facts.life.times.get("created_at")
    promised = facts.life.policy.slo.oldest_ready.total_seconds()
    return available is not None and (available.seconds_ago is None or available.seconds_ago > promised)
