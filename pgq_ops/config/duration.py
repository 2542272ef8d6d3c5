"""The type of every duration in the configuration: text such as "5m" in the file, a timedelta in Python."""

from collections.abc import Callable
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from pgq_ops.config.section import refusal
from pgq_ops.units import format_duration, parse_duration

_EXPECTED = 'write a number and a unit (ms, s, m, h, d, w) in quotes, such as "30s" or "1h30m"'
_LONGEST_ECHO = 20  # longer text is no duration, and could be anything, so it is not repeated


def _read(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise refusal("is a number without a unit", f'did you mean "{value}s"?')
    if not isinstance(value, str):
        raise refusal("is not a duration", _EXPECTED)
    try:
        return parse_duration(value)
    except ValueError as error:
        if len(value) > _LONGEST_ECHO:
            raise refusal("is not a duration", _EXPECTED) from None
        raise refusal(str(error)) from None


def _at_least(minimum: timedelta) -> Callable[[timedelta], timedelta]:
    def check(value: timedelta) -> timedelta:
        if value < minimum:
            raise refusal(f'must be at least "{format_duration(minimum)}"')
        return value

    return check


def _positive(value: timedelta) -> timedelta:
    if value <= timedelta(0):
        raise refusal("must be more than zero")
    return value


Duration = Annotated[timedelta, BeforeValidator(_read), AfterValidator(_at_least(timedelta(0)))]
PositiveDuration = Annotated[timedelta, BeforeValidator(_read), AfterValidator(_positive)]

# More often than this a task would do nothing but look, and one look at a busy table takes about as long.
Interval = Annotated[timedelta, BeforeValidator(_read), AfterValidator(_at_least(timedelta(milliseconds=100)))]
