"""No index leads to the running, or to the pending jobs: looks and reaping then read the table's whole history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.index_advice import pending_index, running_index
from pgq_ops.stats.index_support import Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look

NO_RUNNING_INDEX, NO_PENDING_INDEX = IDS = ("no-running-index", "no-pending-index")
NEEDS = ("indexes",)


def check(look: Look) -> Iterator[Finding]:
    """A warning; only info while the table is small enough to be read whole."""
    if look.support is None:
        return
    serving, tree = look.support.serving, look.support.tree
    severity = Severity.INFO if look.support.small else Severity.WARNING
    evidence = {"table": str(look.table), "small": look.support.small}
    if "running" in look.table.states and Question.RUNNING not in serving:
        yield Finding(
            NO_RUNNING_INDEX,
            severity,
            f"{look.table}: no index leads to the running jobs, so finding expired leases reads the whole table",
            evidence,
            running_index(look.table, tree),
        )
    if "pending" in look.table.states and not {Question.PENDING, Question.PENDING_IN_ORDER} & set(serving):
        yield Finding(
            NO_PENDING_INDEX,
            severity,
            f"{look.table}: no index leads to the pending jobs, so each claim reads the whole table",
            evidence,
            pending_index(look.table, tree),
        )
