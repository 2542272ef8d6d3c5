"""Whether a finding that stays open says something new: evidence moves with each look, a person needs its turns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.schema.saying import Saying

# Numbers that name something instead of counting it.
_NAMES = ("pid", "pids", "oid", "oids")
# What tells one session, prepared transaction or slot from another.
_WHO = ("session", "pid", "name")
# Time passes: that somebody is at it for longer is no turn.
_TIME = "seconds"
# A number is news once it has doubled or halved, and the larger one is no mere handful.
_FACTOR = 2.0
_HANDFUL = 10.0

_SEVERITIES = ("info", "warning", "critical")


def is_urgent(before: Saying, now: Saying) -> bool:
    """Whether the severity has risen, or somebody or something is named that was not known before."""
    if _SEVERITIES.index(now.severity) > _SEVERITIES.index(before.severity):
        return True
    return names_the_unknown(before.evidence, now.evidence)


def names_the_unknown(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether the evidence names somebody or something that was not known before."""
    unknown = {place for place, value in _leaves("", before) if value is None}
    known = {place for place, value in _leaves("", now) if value is not None}
    return any(place == one or place.startswith(f"{one}.") for one in unknown for place in known)


def names_another(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether the evidence names another session, or other holder, or nobody any more."""
    return _who(before) != _who(now)


def is_news(before: Saying, now: Saying) -> bool:
    """Whether the severity changed, somebody or something else is named, or a number doubled or halved."""
    if before.severity != now.severity:
        return True
    (named_before, counted_before), (named, counted) = _read(before.evidence), _read(now.evidence)
    return named_before != named or any(_moved(counted_before[key], number) for key, number in counted.items())


def _moved(before: float, now: float) -> bool:
    low, high = sorted((abs(before), abs(now)))
    return high >= _HANDFUL and high >= _FACTOR * low


def _read(evidence: Mapping[str, Any]) -> tuple[frozenset[tuple[str, str]], Mapping[str, float]]:
    """What the evidence names, and its numbers by their places; of a list the order does not count."""
    named: set[tuple[str, str]] = set()
    counted: dict[str, float] = defaultdict(float)
    for place, value in _leaves("", evidence):
        if _is_number(value) and not place.rpartition(".")[2].endswith(_NAMES):
            named.add((place, ""))
            counted[place] += 0 if _TIME in place else value
        else:
            named.add((place, str(value)))
    return frozenset(named), counted


def _who(evidence: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    leaves = ((place, value) for place, value in _leaves("", evidence) if value is not None)
    return frozenset((place, str(value)) for place, value in leaves if place.rpartition(".")[2] in _WHO)


def _leaves(place: str, value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 (any JSON value)
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _leaves(f"{place}.{key}", one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _leaves(place, one)
    else:
        yield place, value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
