"""Goes through the checklist: each point within its own time, all within one, and none keeps the others back."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg
from psycopg import errors

from pgq_ops.checks.production.examination import OutOfTime
from pgq_ops.checks.production.verdict import unknown
from pgq_ops.checks.wording import command
from pgq_ops.db.connection import Limits, row_security
from pgq_ops.db.failures import is_connection_loss
from pgq_ops.db.wording import in_words
from pgq_ops.errors import NotPermitted
from pgq_ops.stats import partition_tree
from pgq_ops.stats.plans import planning_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.registry import Point
    from pgq_ops.checks.production.verdict import Verdict

POINT_LIMITS = Limits(statement_ms=250, lock_ms=50)
"""A point's statements read the catalog, or a bounded piece of the table through an index."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One point of the checklist, by id and title (the good state), and what it came to."""

    id: str
    title: str
    verdict: Verdict


def judge(
    examination: Examination, points: Iterable[Point], until: float, clock: Callable[[], float] = time.monotonic
) -> tuple[Judged, ...]:
    """Judge every point; no fact is read any more once `clock()` has passed `until`, and what needs none costs nothing.

    Raises only where the connection is lost. The examination's connection is to have POINT_LIMITS.
    """
    examination.over = lambda: clock() >= until
    with row_security(examination.connection, allowed=examination.table.all_visible_policies):
        return tuple(Judged(point.ID, point.TITLE, _verdict(point, examination)) for point in points)


def judge_in_time(
    examination: Examination, points: Sequence[Point], reading: Collection[Point], seconds: float
) -> tuple[Judged, ...]:
    """Judge every point within so many seconds, those of `reading`, which ask the job table itself, in the end.

    With so many partitions that planning alone would take longer, these ask it nothing.
    """
    until = time.monotonic() + seconds
    judged = judge(examination, [point for point in points if point not in reading], until)
    try:
        tables = len(examination.fact(partition_tree.read)) if examination.table.partitioned else 1
    except (psycopg.Error, OutOfTime):
        tables = 1
    judged += judge(examination, reading, until - planning_seconds(tables))
    order = [point.ID for point in points]
    return tuple(sorted(judged, key=lambda one: order.index(one.id)))


def _verdict(point: Point, examination: Examination) -> Verdict:
    try:
        return point.check(examination)
    except NotPermitted as error:
        what = str(error).removesuffix(error.remedy).strip()
        return unknown(what, error.remedy)
    except errors.InsufficientPrivilege as error:
        return unknown(in_words(error), _grants(examination))
    except errors.QueryCanceled:
        return unknown(f"a statement took longer than {POINT_LIMITS.statement_ms} ms", in_time=False)
    except OutOfTime:
        return unknown("there was no time left", in_time=False)
    except psycopg.Error as error:
        if is_connection_loss(error):
            raise
        return unknown(in_words(error))


def _grants(examination: Examination) -> str:
    """Prints what the role lacks, for somebody who may grant it."""
    role = examination.connection.info.user
    return command("pgq-ops", "grants", operands=[role], options=["--tier", "observe", "--sql"])
