"""Moments as a person at a terminal says them: "03:12", "2h", "2026-11-30 03:12"."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from pgq_ops.errors import UsageError
from pgq_ops.units import format_duration, parse_duration

_EXPECTED = (
    'write a time of day ("03:12", the last time it was that), how long ago ("2h"), or a date and time'
    ' ("2026-11-30 03:12", with or without a zone)'
)


def moment(text: str, now: datetime, option: str) -> datetime:
    """The moment that is meant, in this machine's time zone where the text names none.

    Raises UsageError, naming the option, for what is no moment or lies after `now`.
    """
    said = text.strip().removesuffix(" ago")
    found = _time_of_day(said, now) or _date(said) or _ago(said, now)
    if found is None:
        raise UsageError(f'{option} "{text}" is no moment: {_EXPECTED}')
    if found > now:
        raise UsageError(f'{option} "{text}" is {format_duration(found - now)} ahead')
    return found.astimezone(UTC)


def shown(epoch_seconds: float, after: float | None = None) -> str:
    """A moment for people, to the second, in this machine's time zone, which `zone` names.

    Without its date where a moment of the same day stands before it.
    """
    local = datetime.fromtimestamp(epoch_seconds, UTC).astimezone()
    if after is not None and datetime.fromtimestamp(after, UTC).astimezone().date() == local.date():
        return local.strftime("%H:%M:%S")
    return local.strftime("%Y-%m-%d %H:%M:%S")


def zone(epoch_seconds: float) -> str:
    """The time zone of a moment on this machine: `UTC`, `CET (UTC+01:00)`."""
    local = datetime.fromtimestamp(epoch_seconds, UTC).astimezone()
    name, offset = local.tzname() or "", local.isoformat()[-6:]
    return name if name == "UTC" else f"{name} (UTC{offset})"


def _time_of_day(said: str, now: datetime) -> datetime | None:
    """The last time that clocks showed it: of an hour that a change of clocks repeats, the second one if it is over."""
    if ":" not in said or "-" in said:
        return None
    try:
        wanted = time.fromisoformat(said if said.index(":") != 1 else f"0{said}")
    except ValueError:
        return None
    if wanted.tzinfo is not None:
        today = datetime.combine(now.astimezone(wanted.tzinfo).date(), wanted)
        return today if today <= now else today - timedelta(days=1)
    today = datetime.combine(now.astimezone().date(), wanted)
    shown_then = (
        (today - timedelta(days=days)).replace(fold=fold).astimezone() for days in (0, 1, 2) for fold in (1, 0)
    )
    # An hour that a change of clocks left out was on no clock.
    return next((one for one in shown_then if one <= now and one.time() == wanted), None)


def _date(said: str) -> datetime | None:
    try:
        return datetime.fromisoformat(said).astimezone()
    except ValueError:
        return None


def _ago(said: str, now: datetime) -> datetime | None:
    try:
        return now - parse_duration(said)
    except ValueError:
        return None
