"""The dead letters that died last, as a list shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.db.connection import row_security
from pgq_ops.job_table.dead_selection import select
from pgq_ops.stats import bounded
from pgq_ops.stats.dead_error_head import error_head

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.dead_filter import DeadFilter
    from pgq_ops.job_table.dead_place import DeadPlace
    from pgq_ops.stats.bounded import Rows

MOST_SEEN = 100_000
"""Of so many rows the latest are found in about 0.1 s through an index; a person's command waits for no more."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One dead letter.

    `age_seconds` counts from `age_since`: `finished_at`, else `created_at`; both are None where neither is known.
    `died_at`, alike, is ISO 8601 in UTC. `error` is the beginning of the error's first line, `table` where the row is.
    """

    id: str | None
    queue: str | None
    kind: str | None
    attempts: int | None
    age_seconds: float | None
    age_since: str | None
    died_at: str | None
    owner: str | None
    error: str | None
    table: str


def read(
    connection: Connection, place: DeadPlace, wanted: DeadFilter, *, limit: int, through_indexes: bool
) -> tuple[DeadLetter, ...]:
    """The `limit` that died last of the first `MOST_SEEN` meant; raises ConfigError, the driver's errors."""
    attempts = place.table.fields.get("attempts")
    columns = [
        place.shown_id(),
        place.table.queue(),
        place.text_of("kind"),
        composing.SQL("NULL::bigint") if attempts is None else attempts.value,
        place.age_seconds(composing.SQL("c.pgq_ops_died_at")),
        place.age_since_of_row(),
        composing.SQL("pg_catalog.to_char(c.pgq_ops_died_at, 'YYYY-MM-DD\"T\"HH24:MI:SS.US+00:00')"),
        place.text_of("owner"),
        error_head(place),
    ]
    rows = latest(connection, place, wanted, columns, sample=MOST_SEEN, limit=limit, through_indexes=through_indexes)
    return tuple(
        DeadLetter(job, queue, kind, None if tries is None else int(tries), age, since, died, owner, error, str(place))
        for job, queue, kind, tries, age, since, died, owner, error in rows
    )


def latest(  # noqa: PLR0913 (one look, each part of it by its name)
    connection: Connection,
    place: DeadPlace,
    wanted: DeadFilter,
    columns: list[composing.Composable],
    *,
    sample: int,
    limit: int,
    through_indexes: bool,
) -> Rows:
    """Some columns of the `limit` that died last among the first `sample` meant, the last one first."""
    selection = select(place, wanted)
    fragments = {
        "columns": composing.SQL(", ").join(columns),
        "died_at": place.died_at(),
        "shown_id": place.shown_id(),
        "table": place.relation.sql,
        "condition": selection.condition,
    }
    statement = sql.statement("stats/dead_latest", fragments)
    parameters = {**selection.parameters, "sample": sample, "limit": limit}
    with row_security(connection, allowed=place.table.all_visible_policies):
        rows, _ = bounded.read(connection, place.table, statement, parameters, through_indexes=through_indexes)
    return rows
