"""What the probes' thread leaves for the recorder: the last look at a job table, with the moments of those before."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.schema.saying import Saying

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pgq_ops.checks.finding import Finding
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class NotedLook:
    """The last look at a job table: what was wrong, whether nothing else was, and when (monotonic seconds).

    Several looks may come between two writes. `since`: of what is there, or presumed so, the look that first showed
    it, and `first` what that one said. `gone`: of what is not, the whole look that no longer did.
    """

    table: JobTable
    findings: Mapping[str, Saying]
    whole: bool
    at: float
    since: Mapping[str, float] = field(default_factory=dict)
    first: Mapping[str, Saying] = field(default_factory=dict)
    gone: Mapping[str, float] = field(default_factory=dict)

    def missing_since(self, finding: str) -> float:
        """When a look first showed that it is not there."""
        return self.gone.get(finding, self.at)


def noted(before: NotedLook | None, table: JobTable, findings: Iterable[Finding], *, whole: bool) -> NotedLook:
    """A look that has just been made, after the one `before`; what it misses is gone only if it was `whole`."""
    at = time.monotonic()
    says = {one.id: Saying(str(one.severity), one.summary, one.evidence, one.remedy) for one in findings}
    there, said, missing = (before.since, before.first, before.gone) if before is not None else ({}, {}, {})
    since = ({} if whole else dict(there)) | {finding: there.get(finding, at) for finding in says}
    first = ({} if whole else dict(said)) | {finding: said.get(finding, one) for finding, one in says.items()}
    gone = {finding: when for finding, when in missing.items() if finding not in says}
    if whole:
        gone |= {finding: at for finding in there if finding not in says}
    return NotedLook(table, says, whole, at, since, first, gone)
