"""One batch of a purge: dead letters deleted, and written to a file before that is committed."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.binding import catalog
from pgq_ops.db.failures import is_connection_loss
from pgq_ops.job_table.columns import column
from pgq_ops.job_table.dead_record import record
from pgq_ops.tasks.dead_statement import DeadRow, discarded
from pgq_ops.tasks.dead_unchanged import require_attached, require_same_cascades

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.cascade import Cascade
    from pgq_ops.tasks.dead_export_file import ExportFile
    from pgq_ops.tasks.dead_statement import Take
    from pgq_ops.tasks.reap_page import Page

# Rows of megabytes make a batch of a few: all 500 would take longer than a statement may.
MOST_BYTES = 16 * 1_048_576
# Their length is known without reading what is stored elsewhere; of anything else it is known how it is stored.
_TEXTS = frozenset({"text", "character varying", "character", "bytea"})


@dataclass(frozen=True, slots=True)
class PurgeStatement:
    """A purge of one relation; without `file` what is deleted is gone.

    `cascades`: the foreign keys through which other tables may change.
    """

    take: Take
    file: ExportFile | None
    cascades: Sequence[Cascade] = ()
    _texts: dict[str, bytes] = field(default_factory=dict, init=False, repr=False)

    def run(self, connection: Connection, page: Page, limit: int, before: int) -> list[DeadRow]:  # noqa: ARG002
        """Purge up to `limit` rows of the page and commit, as DeadStatement says.

        Exactly what the statement returns as deleted is on disk before the commit. Raises PartitionGone, TableChanged
        and ActionFailed (the disk) beside the driver's errors.
        """
        with self.transaction(connection):
            rows = self._delete(connection, page, limit)
            # Whatever was put off until the commit fails here.
            connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
            if rows:
                require_attached(connection, self.take.place, self.take.relation)
                require_same_cascades(connection, self.take.place, self.cascades)
            if self.file is not None:
                self.file.sync()
        return rows

    @contextmanager
    def transaction(self, connection: Connection) -> Iterator[None]:
        """One whose rows are cut from the file where it is not committed.

        Unless the connection is lost at the commit: then nobody knows, and a row too many does no harm.
        """
        begun = None if self.file is None else self.file.mark()
        committing = False
        try:
            with connection.transaction():
                yield
                committing = True
        except Exception as error:
            if self.file is not None and begun is not None and not (committing and is_connection_loss(error)):
                self.file.back_to(begun)
            raise

    def fitting(self, connection: Connection, page: Page, limit: int) -> int:
        """How many of so many rows a batch may take, as DeadStatement says."""
        if self.file is None:
            return limit
        kind = f"fitting {page.kind}"
        if kind not in self._texts:
            found = catalog.columns(connection, self.take.place.relation.oid)
            sizes = [
                composing.SQL("COALESCE({}({}), 0)").format(
                    composing.SQL("octet_length" if one.base_type in _TEXTS else "pg_column_size"), column(name)
                )
                for name, one in found.items()
            ]
            size = composing.SQL(" + ").join([composing.SQL("0::bigint"), *sizes])
            fragments = self.take.fragments() | {"page": page.condition, "size": size}
            self._texts[kind] = sql.statement("dead/fitting", fragments).as_bytes(None)
        parameters = self.take.parameters(page, limit) | {"most_bytes": MOST_BYTES}
        row = connection.execute(self._texts[kind], parameters).fetchone()
        return limit if row is None else int(row[0])

    def explain(self, connection: Connection, page: Page) -> None:
        """Only plan a batch."""
        query = composing.SQL("EXPLAIN {}").format(self._query(page))
        connection.execute(query, self.take.parameters(page, 1))

    def without_log(self) -> None:
        """It writes none."""

    def _delete(self, connection: Connection, page: Page, limit: int) -> list[DeadRow]:
        """Each row goes to the file as it comes: all of them may be more than fits into memory."""
        kept = discarded(self.take.place)
        rows: list[DeadRow] = []
        with connection.cursor() as cursor:
            stream = cursor.stream(self._text(page), self.take.parameters(page, limit))
            # Closed where the disk is full: it has the connection's lock, which to roll back takes too.
            with closing(cast("Generator[tuple[Any, ...]]", stream)) as deleted:
                for key, job, position, changed, exported in deleted:
                    if changed and self.file is not None:
                        self.file.append(exported)
                    rows.append(DeadRow(key, job, position, None if changed else kept))
        return rows

    def _text(self, page: Page) -> bytes:
        if page.kind not in self._texts:
            self._texts[page.kind] = self._query(page).as_bytes(None)
        return self._texts[page.kind]

    def _query(self, page: Page) -> composing.Composed:
        exported: composing.Composable = composing.SQL("NULL")
        if self.file is not None:
            exported = record(self.take.place, whole_row=True)
        fragments = {
            "take": self.take.query(page),
            "exported": composing.SQL("{}::text").format(exported),
            "first_first": self.take.order.first_first(),
        }
        return sql.statement("dead/purge_batch", self.take.fragments() | fragments)
