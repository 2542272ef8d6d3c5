"""The dead letters of a job table in a few numbers, wherever they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.job_table.dead_filter import DeadFilter
from pgq_ops.job_table.dead_place import dead_places
from pgq_ops.stats import dead_errors, dead_summary
from pgq_ops.stats.dead_errors import DeadErrors
from pgq_ops.stats.dead_summary import DeadSummary
from pgq_ops.stats.index_support import Question

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.dead_place import DeadPlace
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.index_support import IndexSupport


@dataclass(frozen=True, slots=True)
class DeadOverview:
    """How many dead letters there are, since when, how fast they become more, and what they died of."""

    summary: DeadSummary = field(default_factory=DeadSummary)
    errors: DeadErrors = field(default_factory=DeadErrors)


def read(
    connection: Connection,
    table: JobTable,
    support: IndexSupport,
    wanted: DeadFilter | None = None,
    *,
    most: int,
) -> DeadOverview:
    """Look at up to `most` dead letters of each place, or of those that are meant.

    Raises ConfigError for a filter on what is not mapped, the driver's errors, that of the timeout included.
    """
    meant = wanted or DeadFilter()
    summaries, errors = [], []
    for place in dead_places(table):
        indexed = leads_there(support, place)
        summary = dead_summary.read(connection, place, meant, most=most, through_indexes=indexed)
        summaries.append(summary)
        if summary.jobs:
            errors.append(dead_errors.read(connection, place, meant, most=most, through_indexes=indexed))
    return DeadOverview(dead_summary.together(summaries), dead_errors.together(errors))


def leads_there(support: IndexSupport, place: DeadPlace) -> bool:
    """Whether an index leads to the dead letters, so that nothing else should be tried."""
    return not place.is_dead_letter_table and not support.small and Question.DEAD in support.serving
