"""How many dead letters there are, how old they are and how fast they become more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from psycopg import errors
from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.db.connection import row_security
from pgq_ops.job_table.dead_place import weakest_since
from pgq_ops.job_table.dead_selection import select
from pgq_ops.job_table.quoting import all_of
from pgq_ops.stats import bounded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.dead_filter import DeadFilter
    from pgq_ops.job_table.dead_place import DeadPlace

_A_DAY_AGO = composing.SQL("(pg_catalog.now() - interval '24 hours')")


@dataclass(frozen=True, slots=True)
class DeadSummary:
    """The dead letters of one place or several.

    Not `exact`: there are more than `jobs`, and the ages are those of the ones looked at. The ages (seconds) are None
    where there is no dead letter, or none whose age is known; they count from `age_since`, `finished_at` or
    `created_at` (which single rows fall back to), None without both. `last_hour` and `last_day` count by `finished_at`
    those that are still dead; None where that is not mapped, lower bounds where `growth_exact` is false.
    """

    jobs: int = 0
    exact: bool = True
    oldest_seconds: float | None = None
    newest_seconds: float | None = None
    last_hour: int | None = None
    last_day: int | None = None
    growth_exact: bool = True
    age_since: str | None = None


def read(
    connection: Connection, place: DeadPlace, wanted: DeadFilter, *, most: int, through_indexes: bool
) -> DeadSummary:
    """Look at up to `most` dead letters; raises ConfigError, the driver's errors.

    Where there are more, those of the last day are looked for by themselves: an index on `finished_at` finds them.
    """
    seen = _look(connection, place, wanted, [], most=most, through_indexes=through_indexes)
    finished = place.table.fields.get("finished_at")
    if seen.exact or finished is None:
        return seen
    is_recent = composing.SQL("{} > {}").format(finished.value, place.table.clock.compared(_A_DAY_AGO, finished))
    try:
        recent = _look(connection, place, wanted, [is_recent], most=most, through_indexes=through_indexes)
    except errors.QueryCanceled:
        return replace(seen, growth_exact=False)
    return replace(
        seen,
        newest_seconds=seen.newest_seconds if recent.newest_seconds is None else recent.newest_seconds,
        last_hour=recent.last_hour,
        last_day=recent.last_day,
        growth_exact=recent.exact,
    )


def together(summaries: Iterable[DeadSummary]) -> DeadSummary:
    """Several places as one."""
    found = list(summaries)
    oldest = [one.oldest_seconds for one in found if one.oldest_seconds is not None]
    newest = [one.newest_seconds for one in found if one.newest_seconds is not None]
    return DeadSummary(
        jobs=sum(one.jobs for one in found),
        exact=all(one.exact for one in found),
        oldest_seconds=max(oldest, default=None),
        newest_seconds=min(newest, default=None),
        last_hour=_sum([one.last_hour for one in found]),
        last_day=_sum([one.last_day for one in found]),
        growth_exact=all(one.growth_exact for one in found),
        age_since=weakest_since(one.age_since for one in found),
    )


def _sum(numbers: list[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _look(  # noqa: PLR0913 (as read)
    connection: Connection,
    place: DeadPlace,
    wanted: DeadFilter,
    conditions: list[composing.Composable],
    *,
    most: int,
    through_indexes: bool,
) -> DeadSummary:
    selection = select(place, wanted)
    finished = place.table.fields.get("finished_at")
    fragments = {
        "oldest_seconds": place.age_seconds(composing.SQL("pg_catalog.min(s.pgq_ops_died_at)")),
        "newest_seconds": place.age_seconds(composing.SQL("pg_catalog.max(s.pgq_ops_died_at)")),
        "died_at": place.died_at(),
        "finished_at": composing.SQL("NULL::timestamptz") if finished is None else place.table.clock.finite(finished),
        "table": place.relation.sql,
        "condition": all_of([selection.condition, *conditions]),
    }
    statement = sql.statement("stats/dead_summary", fragments)
    parameters = {**selection.parameters, "sample": most + 1}
    with row_security(connection, allowed=place.table.all_visible_policies):
        rows, _ = bounded.read(connection, place.table, statement, parameters, through_indexes=through_indexes)
    [(jobs, oldest, newest, hour, day)] = rows
    exact = jobs <= most
    hour, day = (None, None) if finished is None else (int(hour), int(day))
    return DeadSummary(
        min(int(jobs), most), exact, oldest, newest, hour, day, growth_exact=exact, age_since=place.age_since
    )
