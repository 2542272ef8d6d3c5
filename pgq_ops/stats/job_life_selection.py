"""The jobs of one id, whatever their state: in the job table, and in the dead-letter table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pgq_ops.job_table.dead_filter import DeadFilter
from pgq_ops.job_table.dead_place import DeadPlace, dead_places
from pgq_ops.job_table.dead_selection import select
from pgq_ops.job_table.table import StateRule

if TYPE_CHECKING:
    from pgq_ops.job_table.dead_selection import Selection
    from pgq_ops.job_table.table import JobTable

MOST = 20
"""One id is one job, or one in each of a few partitions, or as many as it died times."""

_WHATEVER_STATE = {"dead": StateRule(where="true")}


def of_id(table: JobTable, job: str) -> Selection:
    """The rows of the job table with that mapped id, through an index where the id is a number, a uuid or a text."""
    everywhere = DeadPlace(table, replace(table, states=_WHATEVER_STATE))
    return select(everywhere, DeadFilter(ids=(job,)))


def dead_letters_of_id(table: JobTable, job: str) -> tuple[tuple[DeadPlace, Selection], ...]:
    """The dead-letter table, if there is one, with the condition on its rows."""
    return tuple(
        (place, select(place, DeadFilter(ids=(job,)))) for place in dead_places(table) if place.is_dead_letter_table
    )
