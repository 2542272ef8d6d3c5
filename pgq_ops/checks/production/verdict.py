"""What one point of the production checklist came to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.checks.finding import Finding


class Outcome(StrEnum):
    """`unknown`: it could not be checked, and why is said. `not-applicable`: there is nothing to check."""

    PASSED = "passed"
    FINDING = "finding"
    UNKNOWN = "unknown"
    NOT_APPLICABLE = "not-applicable"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome, with one sentence that holds what was seen; a finding where there is something wrong.

    `remedy`: how it can be checked where it could not, as text to paste; a finding has its own. `in_time`: false where
    there was too little time to check it.
    """

    outcome: Outcome
    text: str
    finding: Finding | None = None
    remedy: str = ""
    in_time: bool = True


def passed(text: str) -> Verdict:
    """All is well; `text` says what was seen, with its numbers."""
    return Verdict(Outcome.PASSED, text)


def unknown(why: str, remedy: str = "", *, in_time: bool = True) -> Verdict:
    """It could not be checked, because."""
    return Verdict(Outcome.UNKNOWN, why, remedy=remedy, in_time=in_time)


def not_applicable(why: str) -> Verdict:
    """There is nothing to check."""
    return Verdict(Outcome.NOT_APPLICABLE, why)


def found(finding: Finding) -> Verdict:
    """Something is wrong."""
    return Verdict(Outcome.FINDING, finding.summary, finding)
