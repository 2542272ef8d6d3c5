"""Without an index that leads to the running jobs, each look for expired leases reads the whole history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks import missing_indexes
from pgq_ops.checks.production.verdict import found, passed, unknown
from pgq_ops.stats.index_support import Question

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = missing_indexes.NO_RUNNING_INDEX
TITLE = "An index leads to the running jobs"


def check(examination: Examination) -> Verdict:
    """The finding is the ordinary look's own."""
    look = examination.look
    if look.support is None:
        return unknown(f"the planner could not be asked which indexes serve{examination.why_not('indexes')}")
    for finding in missing_indexes.check(look):
        if finding.id == ID:
            return found(finding)
    return passed(", ".join(look.support.serving[Question.RUNNING].indexes[:3]))
