"""Sentences with the commands that belong to them; names in them are kept whole when lines are broken."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops.cli.inspection.lines import printable
from pgq_ops.cli.inspection.numbers import ago

if TYPE_CHECKING:
    from pgq_ops.stats.job_life import Moment

# A space that is no place for a line to end; nothing that is printable holds it.
_FIXED_SPACE = "\x1f"
_NARROWEST = 20


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence or a few, and commands or statements to paste below them."""

    text: str
    commands: tuple[str, ...] = ()

    @property
    def plain(self) -> str:
        """The sentence on one line."""
        return self.text.replace(_FIXED_SPACE, " ")

    def wrapped(self, width: int | None) -> list[str]:
        """The sentence in lines of the width (None: one line); a name that is longer stands on one of its own."""
        if width is None:
            return [self.plain]
        lines = textwrap.wrap(self.text, max(_NARROWEST, width), break_long_words=False, break_on_hyphens=False)
        return [line.replace(_FIXED_SPACE, " ") for line in lines]


def named(text: str) -> str:
    """A name or a value from a row, for a sentence: printable, and never broken."""
    return printable(text).replace(" ", _FIXED_SPACE)


def clock(at: str, now: str) -> str:
    """A moment (ISO 8601) as people say it: the time alone on the day of `now`, else with the date; in UTC."""
    day, _, time = at.partition("T")
    if not time:
        return at
    return f"{time[:8]}{_FIXED_SPACE}UTC" if now.startswith(day) else f"{day}{_FIXED_SPACE}{time[:5]}{_FIXED_SPACE}UTC"


def since(moment: Moment, now: str) -> str:
    """`for 5m (since 11:40:01 UTC)`; of an infinite moment its name."""
    if moment.seconds_ago is None:
        return f"since {moment.at}"
    return f"for {ago(moment.seconds_ago)} (since {clock(moment.at, now)})"


def relative(moment: Moment, now: str) -> str:
    """`5m ago (11:40:01 UTC)`, `in 5m (11:50:01 UTC)`; of an infinite moment its name."""
    if moment.seconds_ago is None:
        return f"at {moment.at}"
    past = moment.seconds_ago >= 0
    words = f"{ago(moment.seconds_ago)} ago" if past else f"in {ago(-moment.seconds_ago)}"
    return f"{words} ({clock(moment.at, now)})"


def capitalized(sentence: str) -> str:
    """The sentence with a large first letter."""
    return sentence[:1].upper() + sentence[1:]


def counted(number: int, noun: str) -> str:
    """`1 job`, `2 jobs`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
