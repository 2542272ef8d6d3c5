"""Numbers as plans have them: rounded so that they do not flap, and written as PostgreSQL and people read them."""

from __future__ import annotations

import math

TIMES = "\N{MULTIPLICATION SIGN}"
_TEN = 10


def rounded_down(value: float) -> int:
    """To two significant digits, so that it is never more than what it is derived from; below 100 to a whole one."""
    if value < 100:  # noqa: PLR2004 (two digits)
        return math.floor(value)
    unit = int(10 ** (len(str(math.floor(value))) - 2))
    return math.floor(value / unit) * unit


def rounded_up(value: float) -> int:
    """As `rounded_down`, so that it is never less."""
    down = rounded_down(value)
    return down if down >= value else down + int(10 ** max(0, len(str(down)) - 2))


def as_number(text: str) -> float:
    """A parameter's number. PostgreSQL keeps it as it was written, `0x10` too."""
    try:
        return float(text)
    except ValueError:
        return float(int(text, 0))


def as_switch(text: str) -> str:
    """`on`, `off` or `auto`: PostgreSQL takes any beginning of true, false, yes and no, and 1 and 0."""
    word = text.strip().lower()
    if word == "auto":
        return word
    return "off" if "false".startswith(word) or "no".startswith(word) or word in {"of", "off", "0"} else "on"


def rows(value: float) -> str:
    """A number of rows for people: `5,000`."""
    return f"{value:,.0f}"


def rate(value: float) -> str:
    """A rate for people, in two digits below ten: `310`, `0.42`."""
    return f"{value:,.0f}" if value >= _TEN else f"{value:.2g}"


def number(value: float) -> str:
    """A number for people, without zeros that say nothing: `2`, `0.2`, `60`."""
    return f"{value:,.10g}"
