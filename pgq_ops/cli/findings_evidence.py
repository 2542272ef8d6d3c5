"""Evidence of findings as short lines for a person: `holder: session 4242@1764000000.1, user bi, 42m`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

# Of a list; --json has all.
_MOST = 3
# What a change is told by; more is told by the sentence, or by --json.
_MOST_CHANGES = 3
_HANDFUL = 10.0
_FIRST = ("holder", "holders", "sessions", "end", "chain")
# The order that a sentence has; what else there is follows.
_ORDER = (
    "queue",
    "session",
    "pid",
    "kind",
    "name",
    "application_name",
    "user",
    "database",
    "client",
    "state",
    "seconds",
)
_BARE = ("name", "application_name", "state", "kind", "table")


def evidence_lines(evidence: Mapping[str, Any]) -> Iterator[str]:
    """One line for each value, and for each of the first members of a list that have parts; whoever it was first."""
    for key, value in sorted(evidence.items(), key=lambda item: item[0] not in _FIRST):
        if isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
            yield from (f"{key}: {_text(key, one)}" for one in value[:_MOST])
            if len(value) > _MOST:
                yield f"{key}: {len(value) - _MOST} more: --json"
        else:
            yield f"{key}: {_text(key, value)}"


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """What evidence names or counts otherwise than before, such as `buffers 851 -> 10,199`; empty where nothing.

    That time passes is no change; a small move of a number is told only where there is nothing else.
    """
    large: list[str] = []
    small: list[str] = []
    for key in {**before, **after}:
        was, now = before.get(key), after.get(key)
        told = f"{key} {_text(key, was)} -> {_text(key, now)}"
        if "seconds" in key or was == now or isinstance(was or now, list | Mapping):
            continue
        if _is_number(was) and _is_number(now):
            low, high = sorted((abs(was), abs(now)))
            (large if high >= 2 * low and (high >= _HANDFUL or not low) else small).append(told)
        else:
            large.insert(0, told)
    return ", ".join((large or small)[:_MOST_CHANGES])


def _text(key: str, value: Any) -> str:  # noqa: ANN401 (any JSON value)
    if value is None:
        return "none" if key in {"holder", "end"} else "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _is_number(value):
        return _number(key, value)
    if isinstance(value, Mapping):
        return ", ".join(_parts(value)) or "none"
    if isinstance(value, list):
        more = [f"{len(value) - _MOST} more: --json"] if len(value) > _MOST else []
        return ", ".join([_text("", one) for one in value[:_MOST]] + more) or "none"
    return str(value)


def _number(key: str, value: float) -> str:
    if key.endswith("seconds"):
        return format_duration(value if value < 1 else float(round(value)))
    return str(value) if key in {"pid", "oid"} else f"{value:,}"


def _parts(value: Mapping[str, Any]) -> Iterator[str]:
    """The parts of one thing, such as a session; what is not known, or said by another part, left out."""
    ordered = [*(key for key in _ORDER if key in value), *(key for key in value if key not in _ORDER)]
    for key in ordered:
        part = value[key]
        is_said = (key, part) == ("kind", "backend") or (key == "pid" and value.get("session"))
        if part is None or part == "" or is_said or (key == "state" and part == value.get("kind")):
            continue
        text = _text(key, part)
        speaks_for_itself = key == "seconds" if _is_number(part) else key in _BARE and isinstance(part, str)
        yield text if speaks_for_itself else f"{key} {text}"


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
