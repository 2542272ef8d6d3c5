"""Durations as people write them ("5m", "1h30m", "500ms") and as programs need them."""

from __future__ import annotations

import re
from datetime import timedelta

_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
# A fraction of a second matters only beside few of them.
_FRACTIONS_BELOW = 10
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")

# PostgreSQL holds intervals of far more, but no queue needs a duration beyond this, and it keeps
# every sum of a few durations and a date inside Python's and PostgreSQL's ranges.
MAX_DURATION = timedelta(days=36_500)


def parse_duration(text: str) -> timedelta:
    """Read "1h30m" and the like; units are ms, s, m, h, d, w. Raises ValueError with the reason."""
    compact = text.strip().replace(" ", "")
    parts = _PART.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        guess = f', did you mean "{compact}s"?' if re.fullmatch(r"\d+(\.\d+)?", compact) else ""
        expected = 'write a number and a unit (ms, s, m, h, d, w), such as "30s" or "1h30m"'
        raise ValueError(f'"{text}" is not a duration: {expected}{guess}')
    seconds = sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts)
    if seconds > MAX_DURATION.total_seconds():
        raise ValueError(f'"{text}" is longer than {MAX_DURATION.days} days')
    return timedelta(seconds=seconds)


def format_duration(value: timedelta | float) -> str:
    """Write a duration (a timedelta, or seconds) with its two largest units: "1h30m", "42s", "0.35s"."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    if seconds < _FRACTIONS_BELOW and seconds != int(seconds):
        return f"{sign}{seconds:.2f}".rstrip("0").rstrip(".") + "s"
    whole = round(seconds)
    parts: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, whole = divmod(whole, size)
        if count:
            parts.append(f"{count}{unit}")
    return sign + ("".join(parts[:2]) or "0s")
