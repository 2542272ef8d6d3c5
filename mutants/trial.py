"""One break, tried: whether a test noticed."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mutants.breaks import Break
    from mutants.copy import Copy

_NOTICED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_FAILED = 1  # pytest's exit code where tests failed; another one but 0 says that they did not run


class Outcome(StrEnum):
    """What became of a break. Only `killed` is good."""

    KILLED = "killed"
    SURVIVED = "survived"
    GONE = "pattern gone"
    NOT_RUN = "tests did not run"


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of one break; `detail` is the test that noticed, or what went wrong."""

    one: Break
    outcome: Outcome
    seconds: float
    detail: str = ""

    def line(self) -> str:
        """The trial in a line."""
        return f"{self.outcome:9} {self.seconds:5.1f} s  {self.one.name}: {self.one.breaks}\n{'':20}{self.detail}"


def attempt(one: Break, copy: Copy) -> Trial:
    """Break the copy, run the break's tests, mend it."""
    if one.occurrences(copy.folder) != 1:
        return Trial(one, Outcome.GONE, 0.0, f"{one.file} has it {one.occurrences(copy.folder)} times: {one.find!r}")
    began = time.monotonic()
    with copy.broken(one):
        code, output = copy.test(one.tests, stop_at_first=True)
    seconds = time.monotonic() - began
    noticed = _NOTICED.search(output)
    if code is None:
        return Trial(one, Outcome.KILLED, seconds, output)
    if code == 0:
        return Trial(one, Outcome.SURVIVED, seconds, ", ".join(one.tests))
    if code == _FAILED and noticed is not None:
        return Trial(one, Outcome.KILLED, seconds, noticed[1])
    return Trial(one, Outcome.NOT_RUN, seconds, output[-2000:])
