"""One batch of a purge: dead letters deleted, and written to a file before that is committed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.db.failures import is_connection_loss
from pgq_ops.job_table.dead_record import record
from pgq_ops.tasks.dead_statement import DeadRow, discarded

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.tasks.dead_export_file import ExportFile
    from pgq_ops.tasks.dead_statement import Take
    from pgq_ops.tasks.reap_page import Page


@dataclass(frozen=True, slots=True)
class PurgeStatement:
    """A purge of one relation; without `file` what is deleted is gone."""

    take: Take
    file: ExportFile | None
    _texts: dict[str, bytes] = field(default_factory=dict, init=False, repr=False)

    def run(self, connection: Connection, page: Page, limit: int, before: int) -> list[DeadRow]:  # noqa: ARG002
        """Purge up to `limit` rows of the page and commit, as DeadStatement says.

        Exactly what the statement returns as deleted is on disk before the commit. Where it is not committed the
        file is cut back, unless the connection was lost: then nobody knows, and a row too many does no harm.
        """
        begun = None
        exported = 0
        try:
            with connection.transaction():
                found = connection.execute(self._text(connection, page), self.take.parameters(page, limit)).fetchall()
                # Whatever was put off until the commit fails here, before anything is written.
                connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
                deleted = [row[-1] for row in reversed(found) if row[3]]
                if self.file is not None and deleted:
                    begun, exported = self.file.write(deleted), len(deleted)
        except Exception as error:
            if self.file is not None and begun is not None and not is_connection_loss(error):
                self.file.back_to(begun, exported)
            raise
        kept = discarded(self.take.place)
        return [
            DeadRow(key, job, position, None if changed else kept) for key, job, position, changed, _ in reversed(found)
        ]

    def explain(self, connection: Connection, page: Page) -> None:
        """Only plan a batch."""
        query = composing.SQL("EXPLAIN {}").format(self._query(page))
        connection.execute(query, self.take.parameters(page, 1))

    def without_log(self) -> None:
        """It writes none."""

    def _text(self, connection: Connection, page: Page) -> bytes:
        if page.kind not in self._texts:
            self._texts[page.kind] = self._query(page).as_bytes(connection)
        return self._texts[page.kind]

    def _query(self, page: Page) -> composing.Composed:
        exported: composing.Composable = composing.SQL("NULL")
        if self.file is not None:
            exported = record(self.take.place, whole_row=True)
        fragments = {"take": self.take.query(page), "exported": composing.SQL("{}::text").format(exported)}
        return sql.statement("dead/purge_batch", self.take.fragments() | fragments)
