"""The type of every duration in the configuration: text such as "5m" in the file, a timedelta in Python."""

from datetime import timedelta
from typing import Annotated

from annotated_types import Ge, Gt
from pydantic import BeforeValidator

from pgq_ops.config.section import refusal
from pgq_ops.units import parse_duration

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


Duration = Annotated[timedelta, BeforeValidator(_read), Ge(timedelta(0))]
PositiveDuration = Annotated[timedelta, BeforeValidator(_read), Gt(timedelta(0))]

# More often than this a task would do nothing but look, and one look of a busy table takes about as long.
Interval = Annotated[timedelta, BeforeValidator(_read), Ge(timedelta(milliseconds=100))]
