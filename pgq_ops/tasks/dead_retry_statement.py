"""One batch of a retry: dead jobs made pending in place, or moved back from the dead-letter table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.binding.access import quoted
from pgq_ops.errors import TableChanged
from pgq_ops.job_table.quoting import identifier
from pgq_ops.tasks.dead_statement import DeadRow, discarded
from pgq_ops.tasks.reap_statement import CopySwallowed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.retry_changes import RetryChanges
    from pgq_ops.tasks.dead_statement import Take
    from pgq_ops.tasks.dead_way_back import WayBack
    from pgq_ops.tasks.reap_page import Page


@dataclass(frozen=True, slots=True)
class RetryStatement:
    """A retry of one relation.

    `rate`: jobs a second (0: all at once), counted from `begun`, epoch seconds by the database's clock.
    `way_back`: how to the job table from a dead-letter table, None in the job table itself. `logged`: whether
    `pgq_ops.reap_log` is written.
    """

    bare_take: Take
    changes: RetryChanges
    rate: float
    begun: float
    way_back: WayBack | None = None
    logged: bool = False
    _texts: dict[str, bytes] = field(default_factory=dict, init=False, repr=False)

    @property
    def take(self) -> Take:
        """Which rows it takes, with what the log and the report need of them."""
        there = self.bare_take.place.table
        carried: dict[str, composing.Composable] = {"pgq_ops_queue": there.queue()}
        if self.logged:
            attempts = replace(self.changes, table=there).fresh_attempts()
            carried["pgq_ops_job"] = self.changes.table.key_text()
            carried["pgq_ops_attempts"] = composing.SQL("({})::integer").format(attempts)
        if self.way_back is not None:
            carried["pgq_ops_lost"] = self.way_back.lost()
        return replace(self.bare_take, carried=carried)

    def run(self, connection: Connection, page: Page, limit: int, before: int) -> list[DeadRow]:
        """Retry up to `limit` rows of the page and commit, as DeadStatement says.

        Raises CopySwallowed and TableChanged beside the driver's errors. Deferred constraints are made immediate, so
        that they fail here and not at COMMIT.
        """
        with connection.transaction():
            rows = connection.execute(self._text(connection, page), self._parameters(page, limit, before)).fetchall()
            connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
            if rows and rows[0][-1] != 0:
                raise CopySwallowed(f"{self.changes.table} took {rows[0][-1]} jobs fewer than it was given")
            if rows and self.way_back is not None:
                self._require_same_columns(connection, self.way_back)
        return [
            DeadRow(key, job, position, None if changed else self._refusal(lost), due_at if changed else None)
            for key, job, position, changed, lost, due_at, _ in reversed(rows)
        ]

    def explain(self, connection: Connection, page: Page) -> None:
        """Only plan a batch."""
        query = composing.SQL("EXPLAIN {}").format(self._query(page))
        connection.execute(query, self._parameters(page, 1, 0))

    def _refusal(self, lost: Sequence[str]) -> str:
        if lost:
            names = ", ".join(lost)
            return f"the job table has no column {names}, and what is in there would be lost: add it there, or empty it"
        return discarded(self.bare_take.place)

    def without_log(self) -> RetryStatement | None:
        """The same without writing the log; None where the log is what counts the attempts."""
        if not self.logged or "attempts" not in self.changes.table.fields:
            return None
        return replace(self, logged=False)

    def _require_same_columns(self, connection: Connection, way_back: WayBack) -> None:
        """Raise TableChanged where the dead-letter table has got a column meanwhile: what it holds would be lost.

        Within the batch's transaction, whose lock on the table keeps further columns away until it is over.
        """
        relation = self.bare_take.relation
        name = {"name": quoted(relation.schema, relation.name)}
        row = connection.execute(sql.statement("reap/column_names"), name).fetchone()
        if row is not None and (new := set(row[0] or ()) - way_back.letters.keys()):
            raise TableChanged(f"{relation} has a new column {', '.join(sorted(new))}: run the command again")

    def _parameters(self, page: Page, limit: int, before: int) -> dict[str, Any]:
        table = self.changes.table
        log = {"table_oid": table.relation.oid, "job_table": table.name} if self.logged else {}
        spread = {"rate": self.rate, "begun": self.begun, "before": before}
        return self.bare_take.parameters(page, limit) | log | spread

    def _text(self, connection: Connection, page: Page) -> bytes:
        if page.kind not in self._texts:
            self._texts[page.kind] = self._query(page).as_bytes(connection)
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
