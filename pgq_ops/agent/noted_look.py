"""What the probes' thread leaves for the recorder: the last look at a job table, and what came and went before it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.schema.saying import Saying

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from pgq_ops.checks.finding import Finding
    from pgq_ops.job_table.table import JobTable

# While nothing can be written: some minutes of a table on which everything comes and goes, hours of an ordinary one.
MOST_OVER = 200


@dataclass(frozen=True, slots=True)
class Over:
    """A finding that was there from one look to another: what the first said, and both moments.

    `number` counts those of a job table, from 1.
    """

    number: int
    finding: str
    says: Saying
    since: float
    until: float


@dataclass(frozen=True, slots=True)
class NotedLook:
    """The last look at a job table: what was wrong, what nobody could judge, and when (monotonic seconds).

    Several looks may come between two writes. `since`: of what is there, or presumed so, the look that first showed
    it, and `first` what that one said. `over`: what is there no longer, in the order in which it ended.
    """

    table: JobTable
    findings: Mapping[str, Saying]
    unjudged: Collection[str]
    at: float
    since: Mapping[str, float] = field(default_factory=dict)
    first: Mapping[str, Saying] = field(default_factory=dict)
    over: tuple[Over, ...] = ()
    ended: int = 0


def noted(
    before: NotedLook | None, table: JobTable, findings: Iterable[Finding], unjudged: Collection[str], written: int
) -> NotedLook:
    """A look that has just been made, after the one `before`; what it misses is gone unless it is `unjudged`.

    Of what is over, all up to number `written` is forgotten.
    """
    at = time.monotonic()
    says = {one.id: Saying(str(one.severity), one.summary, one.evidence, one.remedy) for one in findings}
    last = NotedLook(table, {}, (), at) if before is None else before
    gone = [finding for finding in last.since if finding not in says and finding not in unjudged]
    over = [one for one in last.over if one.number > written]
    over += [
        Over(number, finding, last.first[finding], last.since[finding], at)
        for number, finding in enumerate(gone, start=last.ended + 1)
    ]
    since = dict.fromkeys(says, at) | {finding: when for finding, when in last.since.items() if finding not in gone}
    first = says | {finding: said for finding, said in last.first.items() if finding not in gone}
    return NotedLook(table, says, unjudged, at, since, first, tuple(over[-MOST_OVER:]), last.ended + len(gone))
