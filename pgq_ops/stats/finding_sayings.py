"""How long each thing that a finding of the past said stood, and which of them is told first."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.stats.finding_history import PastFinding
    from pgq_ops.stats.finding_turns import Turn

# Where evidence names whoever the sentence is about, in a list the worst first.
_NAMING = ("holder", "holders", "sessions", "end", "chain")
_IDENTITY = ("kind", "session", "pid", "name", "application_name", "user")
_NUMBER = re.compile(r"(?<![\w-])\d[\w.,:@]*")


@dataclass(frozen=True, slots=True)
class Standing:
    """A turn, for how many seconds it stood, and in how many of them an agent looked.

    Of a finding that came and went, both are the most that it can have been.
    """

    turn: Turn
    seconds: float
    watched_seconds: float


def standings(finding: PastFinding, end: float, watched: Sequence[tuple[float, float]]) -> tuple[Standing, ...]:
    """What it said from its opening to its end, the earliest first.

    `watched`: the times in which an agent looked, the earliest first; all in epoch seconds. What was seen last is one
    of its own where it names others than the turn before: agents write turns once a minute.
    """
    turns, latest = finding.turns, finding.latest
    if latest.at > turns[-1].at and not says_the_same(turns[-1], latest):
        turns = (*turns, latest)
    ends = [*(later.at for later in turns[1:]), end]
    return tuple(
        Standing(turn, max(0.0, until - turn.at), _watched(turn.at, until, watched))
        for turn, until in zip(turns, ends, strict=True)
    )


def headline(stood: Sequence[Standing]) -> Standing:
    """Of what it said when it was as bad as it ever was, what stood longest while an agent looked.

    Turns that name the same and differ in their numbers stood together; the longest of them speaks for them.
    """
    worst = max(_rank(one.turn) for one in stood)
    together: dict[Any, list[Standing]] = defaultdict(list)
    for one in stood:
        if _rank(one.turn) == worst:
            together[_subject(one.turn)].append(one)
    longest = max(reversed(together.values()), key=lambda same: sum(one.watched_seconds for one in same))
    return max(reversed(longest), key=lambda one: one.watched_seconds)


def said_first(finding: PastFinding, stood: Sequence[Standing]) -> tuple[Turn, Standing]:
    """The headline as it was seen last, and where it stands among the turns."""
    first = headline(stood)
    is_last = first is stood[-1] and says_the_same(first.turn, finding.latest)
    return finding.latest if is_last else first.turn, first


def says_the_same(before: Turn, after: Turn) -> bool:
    """Whether two turns name the same, with the same severity, in the same words but for numbers."""
    return (before.severity, _words(before), _subject(before)) == (after.severity, _words(after), _subject(after))


def is_reworded(before: Turn, after: Turn) -> bool:
    """Whether the sentence has other words than before, or is about somebody else; other numbers are none."""
    return (_words(before), _subject(before)) != (_words(after), _subject(after))


def _watched(began: float, ended: float, watched: Sequence[tuple[float, float]]) -> float:
    seconds, counted_until = 0.0, began
    for first, last in watched:
        start, stop = max(first, counted_until), min(last, ended)
        if stop > start:
            seconds, counted_until = seconds + stop - start, stop
    return seconds


def _rank(turn: Turn) -> int:
    return ("info", "warning", "critical").index(turn.severity)


def _words(turn: Turn) -> str:
    return _NUMBER.sub("#", turn.summary)


def _subject(turn: Turn) -> tuple[Any, ...] | str:
    """Whoever is named first; the words where nobody is."""
    for key in _NAMING:
        named = turn.evidence.get(key)
        if isinstance(named, list) and named:
            named = named[0]
        if isinstance(named, Mapping) and any(named.get(part) for part in _IDENTITY):
            return tuple(str(named.get(part) or "") for part in _IDENTITY)
    return _words(turn)
