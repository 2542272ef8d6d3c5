"""Goes through the checklist: each point within its own time, all within one, and none keeps the others back."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg
from psycopg import errors

from pgq_ops.checks.production.verdict import unknown
from pgq_ops.checks.wording import command
from pgq_ops.db.connection import Limits, row_security
from pgq_ops.db.failures import is_connection_loss
from pgq_ops.db.wording import in_words
from pgq_ops.errors import NotPermitted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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
    """Judge every point; none is begun once `clock()` has passed `until`. Raises only where the connection is lost.

    The examination's connection is to have POINT_LIMITS.
    """
    with row_security(examination.connection, allowed=examination.table.all_visible_policies):
        return tuple(
            Judged(
                point.ID,
                point.TITLE,
                _verdict(point, examination) if clock() < until else unknown("there was no time left"),
            )
            for point in points
        )


def _verdict(point: Point, examination: Examination) -> Verdict:
    try:
        return point.check(examination)
    except NotPermitted as error:
        what = str(error).removesuffix(error.remedy).strip()
        return unknown(what, error.remedy)
    except errors.InsufficientPrivilege as error:
        return unknown(in_words(error), _grants(examination))
    except errors.QueryCanceled:
        return unknown(f"a statement took longer than {POINT_LIMITS.statement_ms} ms")
    except psycopg.Error as error:
        if is_connection_loss(error):
            raise
        return unknown(in_words(error))


def _grants(examination: Examination) -> str:
    """Prints what the role lacks, for somebody who may grant it."""
    return command("pgq-ops", "grants", examination.connection.info.user, "--tier", "observe", "--sql")
