"""All that a table says of one job, under the policy of the job's own queue."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psycopg import IsolationLevel, errors
from psycopg import sql as composing
from psycopg.rows import dict_row

from pgq_ops import sql
from pgq_ops.db.connection import row_security
from pgq_ops.errors import DatabaseFailed
from pgq_ops.job_table.dead_place import DeadPlace
from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier
from pgq_ops.stats import bounded, job_life_columns, partition_ceiling
from pgq_ops.stats.job_life_selection import MOST, dead_letters_of_id, of_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.config.policy import QueuePolicy
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.dead_selection import Selection
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time: `at` is ISO 8601 in UTC, or `infinity` or `-infinity`, of which `seconds_ago` is None.

    `seconds_ago` is negative for what is still to come.
    """

    at: str
    seconds_ago: float | None


@dataclass(frozen=True, slots=True)
class JobLife:
    """One job; None for what is not mapped, not set or not known.

    `table` is where the row is (the leaf of a partitioned one), `key` its address as text. `state` is a word of the
    design (`scheduled`, `ready`, ...), `state_value` what stands in the column. `attempts` are those stored, `attempt`
    counts the one that runs. `buries`: a reap would bury the job; else it requeues it with a delay of up to
    `delay_seconds` (before jitter). `lease`: live, expired, stale or missing. `times` holds the mapped times by the
    design's words, `lease_expires_at` the lease's end however it is told. `error` is the beginning of its first line.
    """

    key: str
    id: str | None
    table: str
    state: str
    state_value: str | None
    queue: str | None
    kind: str | None
    priority: str | None
    owner: str | None
    attempts: int | None
    attempt: int | None
    max_attempts: int | None
    buries: bool | None
    delay_seconds: float | None
    lease: str | None
    overlong: bool
    future: bool
    error: str | None
    times: Mapping[str, Moment]
    policy: QueuePolicy
    moved: bool = False
    """Whether the row is in the dead-letter table."""


def read(connection: Connection, table: JobTable, job: str, *, logged: bool) -> tuple[JobLife, ...]:
    """The jobs of that id, those in the dead-letter table last, at most `MOST` of each.

    `logged`: whether the reap log may be read; it is not while somebody holds it locked. Raises DatabaseFailed where a
    table is locked, but for a dead-letter table beside a job that is there, and where it takes too long, since no index
    leads to the id; the driver's errors.
    """
    ceiling = partition_ceiling.read(connection, table)
    places = [(DeadPlace(table, table), of_id(table, job)), *dead_letters_of_id(table, job)]
    found: list[JobLife] = []
    for place, selection in places:
        moved = place.is_dead_letter_table
        try:
            with row_security(connection, allowed=place.table.all_visible_policies):
                found += _at(connection, place, selection, None if moved else ceiling, logged=logged)
        except errors.LockNotAvailable as error:
            if not found:
                why = f"{place} is locked by somebody else just now, so nothing can be read of it"
                raise DatabaseFailed(why) from error
    return tuple(found)


def _at(
    connection: Connection,
    place: DeadPlace,
    selection: Selection,
    ceiling: composing.Composable | None,
    *,
    logged: bool,
) -> list[JobLife]:
    """Those of one place, without the reap log where that is locked."""
    if logged:
        with suppress(errors.LockNotAvailable):
            return _of_place(connection, place, selection, ceiling, logged=True)
    return _of_place(connection, place, selection, ceiling, logged=False)


def _of_place(
    connection: Connection,
    place: DeadPlace,
    selection: Selection,
    ceiling: composing.Composable | None,
    *,
    logged: bool,
) -> list[JobLife]:
    """In one snapshot: a job that changes its queue meanwhile is not missed."""
    parameters = {**selection.parameters, "limit": MOST}
    found: list[JobLife] = []
    connection.isolation_level = IsolationLevel.REPEATABLE_READ
    try:
        with bounded.transaction(connection, place.table), connection.cursor(row_factory=dict_row) as cursor:
            for policy in _policies(connection, place, selection.condition, parameters):
                fragments = {
                    "columns": job_life_columns.columns(place, policy, logged=logged, ceiling=ceiling),
                    "table": place.relation.sql,
                    "condition": selection.condition,
                    "in_policy": place.table.in_policy(policy),
                }
                rows = cursor.execute(sql.statement("stats/job_life", fragments), parameters).fetchall()
                found += [_life(row, policy, moved=place.is_dead_letter_table) for row in rows]
    except errors.QueryCanceled as error:
        raise DatabaseFailed(f"looking for the id in {place} took too long{_index(place)}") from error
    finally:
        connection.isolation_level = None
    return found


def _index(place: DeadPlace) -> str:
    mapped = place.table.fields.get("id")
    if mapped is None or mapped.name is None or place.table.partitioned:
        return ": no index leads to it"
    statement = composing.SQL("CREATE INDEX CONCURRENTLY ON {} ({});").format(
        place.relation.sql, identifier(mapped.name)
    )
    return f"; this index would lead to it:\n  {pasted(statement)}"


def _policies(
    connection: Connection, place: DeadPlace, condition: composing.Composable, parameters: Mapping[str, Any]
) -> list[QueuePolicy]:
    """Those that govern the jobs: each has expressions of its own, and a configuration may hold hundreds."""
    default, *others = place.table.policies
    if not others:
        return [default]
    fragments = {"queue": place.table.queue(), "table": place.relation.sql, "condition": condition}
    rows = connection.execute(sql.statement("stats/job_queues", fragments), parameters).fetchall()
    queues = {queue for (queue,) in rows}
    own = [policy for policy in others if policy.queue in queues]
    return [*own, default] if len(own) < len(queues) else own


def _life(row: dict[str, Any], policy: QueuePolicy, *, moved: bool) -> JobLife:
    times = {}
    for name in job_life_columns.TIMES:
        at, seconds = row.pop(name, None), row.pop(f"{name}_seconds", None)
        if at is not None:
            times[name] = Moment(at, seconds)
    return JobLife(**row, times=times, policy=policy, moved=moved)
