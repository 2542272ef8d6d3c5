"""One batch of a retry: dead jobs made pending in place, or moved back from the dead-letter table."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.errors import TableChanged
from pgq_ops.job_table.columns import INTEGER_TYPES
from pgq_ops.job_table.quoting import identifier, literal, plain_name
from pgq_ops.tasks.dead_cascades import follow_moves
from pgq_ops.tasks.dead_statement import DeadRow, discarded
from pgq_ops.tasks.dead_unchanged import require_attached, require_same_cascades
from pgq_ops.tasks.reap_statement import CopySwallowed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.cascade import Cascade
    from pgq_ops.job_table.retry_changes import RetryChanges
    from pgq_ops.tasks.dead_statement import Take
    from pgq_ops.tasks.dead_way_back import WayBack
    from pgq_ops.tasks.reap_page import Page


@dataclass(frozen=True, slots=True)
class RetryStatement:
    """A retry of one relation.

    `rate`: jobs a second (0: all at once), counted from `begun`, epoch seconds by the database's clock.
    `way_back`: how to the job table from a dead-letter table, None in the job table itself. `logged`: whether
    `pgq_ops.reap_log` is written. `cascades`: the foreign keys to the dead-letter table through which other tables may
    change.
    """

    bare_take: Take
    changes: RetryChanges
    rate: float
    begun: float
    way_back: WayBack | None = None
    logged: bool = False
    cascades: Sequence[Cascade] = ()
    _texts: dict[str, bytes] = field(default_factory=dict, init=False, repr=False)

    @property
    def take(self) -> Take:
        """Which rows it takes, with what the log and the report need of them."""
        there = self.bare_take.place.table
        carried: dict[str, composing.Composable] = {"pgq_ops_queue": there.queue()}
        if self.logged:
            attempts = replace(self.changes, table=there).fresh_attempts()
            carried["pgq_ops_job"] = self.changes.table.key_text()
            carried["pgq_ops_attempts"] = composing.SQL("LEAST({}, {})::integer").format(
                attempts, literal(INTEGER_TYPES["integer"])
            )
        carried["pgq_ops_left"] = replace(self.changes, table=there).attempts_left()
        if self.way_back is not None:
            carried["pgq_ops_lost"] = self.way_back.lost()
            carried["pgq_ops_cut"] = self.way_back.cut(self.changes.written_columns())
        return replace(self.bare_take, carried=carried)

    def run(self, connection: Connection, page: Page, limit: int, before: int) -> list[DeadRow]:
        """Retry up to `limit` rows of the page and commit, as DeadStatement says.

        Raises CopySwallowed, PartitionGone and TableChanged beside the driver's errors. Deferred constraints are made
        immediate, so that they fail here and not at COMMIT.
        """
        with self.transaction(connection):
            rows = connection.execute(self._text(page), self._parameters(page, limit, before)).fetchall()
            connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
            if rows and rows[0][-1] != 0:
                raise CopySwallowed(f"{self.changes.table} took {rows[0][-1]} jobs fewer than it was given")
            if rows:
                require_attached(connection, self.bare_take.place, self.bare_take.relation)
            if rows and self.way_back is not None:
                self._require_same_columns(connection, self.way_back)
            if rows and self._leaves_its_place(connection):
                require_same_cascades(connection, self.bare_take.place, self.cascades)
        return [
            DeadRow(key, job, position, None, due_at, left)
            if changed
            else DeadRow(key, job, position, self._refusal(lost, cut))
            for key, job, position, changed, lost, cut, due_at, left, _ in reversed(rows)
        ]

    def explain(self, connection: Connection, page: Page) -> None:
        """Only plan a batch."""
        query = composing.SQL("EXPLAIN {}").format(self._query(page))
        connection.execute(query, self._parameters(page, 1, 0))

    @contextmanager
    def transaction(self, connection: Connection) -> Iterator[None]:
        """One of the database's: all that is written is there."""
        with connection.transaction():
            yield

    def fitting(self, connection: Connection, page: Page, limit: int) -> int:  # noqa: ARG002
        """All of them: no row leaves the server."""
        return limit

    def _refusal(self, lost: Sequence[str], cut: Sequence[str]) -> str:
        if lost:
            names = ", ".join(lost)
            return f"the job table has no column {names}, and what is in there would be lost: add it there, or empty it"
        if cut:
            names = ", ".join(cut)
            return f"too narrow in the job table for what is in there: {names}: widen it there, or change the value"
        return discarded(self.bare_take.place)

    def without_log(self) -> RetryStatement | None:
        """The same without writing the log; None where the log is what counts the attempts."""
        if not self.logged or "attempts" not in self.changes.table.fields:
            return None
        return replace(self, logged=False)

    def _leaves_its_place(self, connection: Connection) -> bool:
        """Whether a foreign key may take the row for a deleted one."""
        return self.way_back is not None or (self.bare_take.moving and follow_moves(connection))

    def _require_same_columns(self, connection: Connection, way_back: WayBack) -> None:
        """Raise TableChanged where the dead-letter table has got a column meanwhile: what it holds would be lost.

        Within the batch's transaction, whose lock on the table keeps further columns away until it is over.
        """
        relation = self.bare_take.relation
        name = {"name": plain_name(relation.schema, relation.name)}
        row = connection.execute(sql.statement("reap/column_names"), name).fetchone()
        if row is not None and (new := set(row[0] or ()) - way_back.letters.keys()):
            raise TableChanged(f"{relation} has a new column {', '.join(sorted(new))}: run the command again")

    def _parameters(self, page: Page, limit: int, before: int) -> dict[str, Any]:
        table = self.changes.table
        log = {"table_oid": table.relation.oid, "job_table": table.name} if self.logged else {}
        spread = {"rate": self.rate, "begun": self.begun, "before": before}
        return self.bare_take.parameters(page, limit) | log | spread

    def _text(self, page: Page) -> bytes:
        if page.kind not in self._texts:
            self._texts[page.kind] = self._query(page).as_bytes(None)
        return self._texts[page.kind]

    def _query(self, page: Page) -> composing.Composed:
        take, writes = self.take, self.changes.writes()
        fragments = take.fragments() | {
            "take": take.query(page),
            "record": self._record(),
            "moment": self.changes.moment(),
        }
        if self.way_back is None:
            assignments = [composing.SQL("{} = {}").format(identifier(name), writes[name]) for name in writes]
            in_place = {
                "assignments": composing.SQL(", ").join(assignments),
                "is_dead": take.place.is_dead(),
            }
            return sql.statement("dead/retry_batch", fragments | in_place)
        columns = self.way_back.inserted(writes)
        values = [writes.get(name, self.way_back.value(name)) for name in columns]
        moving = {
            "job_table": self.changes.table.relation.sql,
            "columns": composing.SQL(", ").join(identifier(name) for name in columns),
            "values": composing.SQL(", ").join(values),
            "typed": self.way_back.typed(),
        }
        return sql.statement("dead/return_batch", fragments | moving)

    def _record(self) -> composing.Composable:
        if not self.logged:
            return composing.SQL("")
        return composing.SQL(", recorded AS (\n{}\n)").format(sql.statement("dead/record_retry"))
