"""Every point of the checklist, in the order in which it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict


class Point(Protocol):
    """A module of this package: `ID` (kebab-case, of its finding too), `TITLE` (the good state), `check`."""

    ID: str
    TITLE: str

    def check(self, examination: Examination) -> Verdict:
        """Judge. May raise the driver's errors: then it could not be checked."""
        ...


POINTS: tuple[Point, ...] = ()
