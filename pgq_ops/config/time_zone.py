"""Whether a time zone exists."""

from difflib import get_close_matches
from zoneinfo import ZoneInfo, available_timezones

from pgq_ops.config.section import refusal


def known_time_zone(name: str) -> str:
    """Return `name` if it is a time zone of the IANA database, else refuse it with a suggestion."""
    if name == "UTC":
        return name
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        names = {known.lower(): known for known in available_timezones()}
        if not names:  # a slim container has no time zone database; PostgreSQL has its own and will judge
            return name
        guess = get_close_matches(name.lower(), names, n=1)
        hint = f'did you mean "{names[guess[0]]}"?' if guess else 'write a name such as "UTC" or "Europe/Berlin"'
        raise refusal("is not a known time zone", hint) from None
    return name
