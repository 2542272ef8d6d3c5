"""One batch of the reaper as one statement in one transaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from psycopg import errors, pq
from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.binding import cascades
from pgq_ops.errors import ActionFailed, TableChanged
from pgq_ops.job_table.changes import ReapChanges
from pgq_ops.job_table.columns import column
from pgq_ops.job_table.leases import LeaseTerms
from pgq_ops.job_table.quoting import all_of, identifier, plain_name
from pgq_ops.tasks.reap_batch import MOST_IDS, Batch
from pgq_ops.tasks.reap_leaves import is_attached
from pgq_ops.tasks.reap_page import GOES_ON
from pgq_ops.tasks.reap_report import ReapReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.config.policy import QueuePolicy
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import DeadLetterTable, JobTable, Relation
    from pgq_ops.tasks.reap_page import Page, PageOrder


class Place(NamedTuple):
    """Where a row is: its address, its queue, and its position in the page's order."""

    key: str
    queue: str | None
    position: list[str]


class CopySwallowed(ActionFailed):
    """The dead-letter table took fewer rows than were removed from the job table; the batch was rolled back."""


@dataclass(frozen=True, slots=True)
class ReapStatement:
    """The reaper's statement for one relation and one policy.

    `relation` is the job table or one of its leaves; `logged` whether `pgq_ops.reap_log` is written too. One that
    `requeues_only` leaves alone what would have to be moved to the dead-letter table.
    """

    table: JobTable
    relation: Relation
    policy: QueuePolicy
    order: PageOrder
    include_stale: bool
    ceiling: composing.Composable | None = None
    logged: bool = False
    requeues_only: bool = False
    _texts: dict[str, bytes] = field(default_factory=dict, init=False, repr=False)

    def run(self, connection: Connection, page: Page, limit: int, skip: Sequence[str] = ()) -> Batch:
        """Reap up to `limit` rows of the page and commit; raises the driver's errors and CopySwallowed.

        Alone, the statement is its own transaction. What the table's owner deferred fails with the commit, which is
        here, or where the caller's transaction ends.
        """
        if self.letters is None and connection.info.transaction_status == pq.TransactionStatus.IDLE:
            return self._run_alone(connection, page, limit, skip)
        with connection.transaction():
            parameters = self.parameters(page, limit, skip)
            rows = connection.execute(self.batch(page), parameters).fetchall()
            if rows and rows[0][-1] != 0:
                raise CopySwallowed(f"{self.letters} took {rows[0][-1]} rows fewer than it was given")
            if rows and self.letters is not None:
                self._require_unchanged(connection, self.letters)
        return Batch.of_rows(rows)

    def _run_alone(self, connection: Connection, page: Page, limit: int, skip: Sequence[str]) -> Batch:
        """A batch that goes on behind another is prepared: planning it takes as long as reaping some 50 rows."""
        text, parameters = self.batch(page), self.parameters(page, limit, skip)
        try:
            rows = connection.execute(text, parameters, prepare=page.kind == GOES_ON).fetchall()
        except errors.InvalidSqlStatementName:
            # Somebody between us and the server has dropped it.
            rows = connection.execute(text, parameters, prepare=False).fetchall()
        return Batch.of_rows(rows)

    def _require_unchanged(self, connection: Connection, letters: DeadLetterTable) -> None:
        """Raise TableChanged where jobs have got a column, or rows that go with them, since the binding.

        What those hold would be lost. Within the batch's transaction, whose lock on the table keeps further columns
        and foreign keys away until it is over.
        """
        parameters = {"name": plain_name(self.relation.schema, self.relation.name)}
        row = connection.execute(sql.statement("reap/column_names"), parameters).fetchone()
        if row is not None and (new := set(row[0] or ()) - letters.job_columns):
            raise TableChanged(f"{self.table} has a new column {', '.join(sorted(new))}, which was not copied yet")
        if new_ones := set(cascades.read(connection, self.table.relation)) - set(letters.cascades):
            raise TableChanged(f"{self.table} has a new foreign key to it: {'; '.join(sorted(map(str, new_ones)))}")

    def parameters(self, page: Page, limit: int, skip: Sequence[str] = ()) -> dict[str, Any]:
        """Every parameter of `batch`."""
        log = {"table_oid": self.table.relation.oid, "job_table": self.table.name} if self.logged else {}
        return page.parameters | log | {"limit": limit, "skip": list(skip), "most_ids": MOST_IDS}

    def batch(self, page: Page) -> bytes:
        """The statement of a batch, put together once for each kind of page."""
        if page.kind not in self._texts:
            self._texts[page.kind] = self._batch(page).as_bytes(None)
        return self._texts[page.kind]

    def peek(
        self, connection: Connection, page: Page, skip: Sequence[str] = (), *, with_queue: bool = True
    ) -> Place | None:
        """Lock the first takeable row of the page, inside the caller's transaction; None where there is none."""
        query = composing.SQL("SELECT {}, {}, ARRAY[{}]::text[] FROM ({}) AS taken")
        queue = composing.SQL("taken.pgq_ops_queue" if with_queue else "NULL::text")
        parameters = page.parameters | {"limit": 1, "skip": list(skip)}
        composed = query.format(self.table.key_text("taken"), queue, self.order.position(), self._take(page))
        row = connection.execute(composed, parameters).fetchone()
        return None if row is None else Place(*row)

    @property
    def letters(self) -> DeadLetterTable | None:
        """Where a batch moves what it buries; None where it moves nothing."""
        return None if self.requeues_only else self.table.dead_letters

    def _fragments(self) -> dict[str, composing.Composable]:
        changes, report = ReapChanges(self.table, self.policy, self.ceiling), ReapReport(self.table, self.order)
        moving = self.letters is not None
        return {
            "table": self.relation.sql,
            "key_columns": composing.SQL(", ").join(
                composing.SQL("{} AS {}").format(part, identifier(f"pgq_ops_key_{number}"))
                for number, part in enumerate(self.table.key_columns(), 1)
            ),
            "key_text": self.table.key_text(),
            "queue": self.table.queue(),
            "reaches_cap": changes.reaches_cap(),
            "is_reapable": LeaseTerms(self.table, (self.policy,)).is_reapable(include_stale=self.include_stale),
            "in_policy": self.table.in_policy(self.policy),
            "is_running": self.table.is_state("running"),
            "same_row": self.table.same_row("taken"),
            "assignments": changes.assignments(),
            "carried": composing.SQL(", ").join([self.order.carried(), *self._logged(changes)]),
            "reported": composing.SQL(", ").join(
                composing.SQL("{} AS {}").format(value, identifier(name)) for name, value in report.kept().items()
            ),
            "names": composing.SQL(", ").join(map(identifier, report.kept())),
            "order": self.order.terms(),
            "lock": composing.SQL("FOR UPDATE" if moving or self.table.moves_rows else "FOR NO KEY UPDATE"),
        }

    def _logged(self, changes: ReapChanges) -> list[composing.Composable]:
        """What the log keeps of a row as it was before."""
        if not self.logged:
            return []
        owner = self.table.fields.get("owner")
        return [
            composing.SQL("{} AS pgq_ops_attempt").format(changes.attempts_now()),
            composing.SQL("{} AS pgq_ops_owner").format(
                composing.SQL("{}::text").format(owner.value) if owner else composing.SQL("NULL::text")
            ),
        ]

    def _take(self, page: Page) -> composing.Composed:
        return sql.statement("reap/take_expired", self._fragments() | {"page": all_of(self._conditions(page))})

    def _conditions(self, page: Page) -> list[composing.Composable]:
        """What is asked of a row beside its lease; of a plain table no more than the page."""
        conditions = [page.condition]
        if self.relation != self.table.relation:
            conditions.append(is_attached(self.table.relation, self.relation))
        if self.requeues_only:
            conditions.append(composing.SQL("NOT {}").format(ReapChanges(self.table, self.policy).reaches_cap()))
        return conditions

    def _batch(self, page: Page) -> composing.Composed:
        report = ReapReport(self.table, self.order)
        record = report.record() if self.logged else composing.SQL("")
        fragments = self._fragments() | {"take_expired": self._take(page), "record": record}
        letters = self.letters
        if letters is None:
            return sql.statement("reap/reap_batch", fragments | {"report": report.statement("0")})
        written = ReapChanges(self.table, self.policy).bury_writes()
        values = [written.get(name, column(name)) for name in letters.columns]
        moving = {
            "dead_letter_table": letters.relation.sql,
            "copied_columns": composing.SQL(", ").join(identifier(name) for name in letters.columns),
            "copied_values": composing.SQL(", ").join(values),
            "report": report.statement(
                "(SELECT pg_catalog.count(*) FROM removed) - (SELECT pg_catalog.count(*) FROM copied)"
            ),
        }
        return sql.statement("reap/reap_batch_moving", fragments | moving)
