"""What became of a job before, in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.cli.why_wording import Said, capitalized, clock, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.cli.why_facts import JobFacts
    from pgq_ops.stats.reap_history import Event

_WORDS = {"requeued": "reaped", "dead_lettered": "buried", "retried": "retried by hand"}
_TIMES = {1: "once", 2: "twice"}
# The reader wants the pattern; --json has all.
_MOST = 10
# Of a job whose end was good nobody asks what its history would say.
_GOING_ON = ("running", "ready", "scheduled", "dead")


def told(facts: JobFacts) -> Iterator[Said]:
    """The history of a job that is there."""
    waits = facts.life.state in _GOING_ON
    if facts.history_unknown and waits:
        first, *rest = facts.history_unknown.splitlines()
        yield Said(f"What became of it before is not known: {first}", tuple(line.strip() for line in rest))
    elif facts.history:
        yield of(facts.history, facts.now)
    elif facts.history is not None and waits and not facts.life.moved:
        yield Said("In the last 30 days it was not reaped before.")


def of(events: Sequence[Event], now: str) -> Said:
    """`Reaped twice before (10:02:11 UTC attempt 1 by w1, ...)`, buried and retried alike, each the oldest first."""
    parts = []
    for outcome, word in _WORDS.items():
        mine = [event for event in events if event.outcome == outcome]
        if not mine:
            continue
        shown = [_event(event, now) for event in reversed(mine[:_MOST])]
        more = f"the last {_MOST}: " if len(mine) > _MOST else ""
        times = _TIMES.get(len(mine), f"{len(mine)} times")
        parts.append(f"{word} {times} before ({more}{', '.join(shown)})")
    text = "; ".join(parts)
    return Said(f"{capitalized(text)}.")


def _event(event: Event, now: str) -> str:
    words = [clock(event.at, now)]
    if event.attempt is not None and event.outcome != "retried":
        words.append(f"attempt {event.attempt}")
    if event.owner:
        words.append(f"by {named(event.owner)}" if event.outcome == "retried" else f"of {named(event.owner)}")
    return " ".join(words)
