"""The end of a batch: what is kept of the rows that were written, logged and reported of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from psycopg import sql as composing

from pgq_ops import sql

if TYPE_CHECKING:
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.tasks.reap_page import PageOrder


@dataclass(frozen=True, slots=True)
class ReapReport:
    """The report of a batch that went through the table in an order."""

    table: JobTable
    order: PageOrder

    def kept(self) -> dict[str, composing.Composable]:
        """What is kept of a row that was written, over `j` and `taken`."""
        key = {f"pgq_ops_key_{number}": part for number, part in enumerate(self.table.key_in("taken"), 1)}
        shown = {} if self._shows_the_key else {"pgq_ops_id": self.table.shown_id()}
        return {
            **key,
            "pgq_ops_queue": composing.SQL("taken.pgq_ops_queue"),
            "pgq_ops_bury": composing.SQL("taken.pgq_ops_bury"),
            **shown,
        }

    def record(self) -> composing.Composable:
        """The part that writes the log, a comma before it."""
        return composing.SQL(", recorded AS (\n{}\n)").format(sql.statement("reap/record_batch", self._keys()))

    def statement(self, not_copied: LiteralString) -> composing.Composed:
        """The SELECT that reports. `not_copied`: how many copies a dead-letter table swallowed."""
        fragments = {
            "position": self.order.position(),
            "last_first": self.order.last_first(),
            "not_copied": composing.SQL(not_copied),
            "id": self.table.key_text("written") if self._shows_the_key else composing.SQL("written.pgq_ops_id"),
        }
        return sql.statement("reap/report_batch", fragments | self._keys())

    def _keys(self) -> dict[str, composing.Composable]:
        """The rows' addresses, to be compared and shown."""
        return {
            "taken_key": self.table.key_text("taken"),
            "taken_columns": composing.SQL(", ").join(self.table.key_in("taken")),
            "written_columns": composing.SQL(", ").join(self.table.key_in("written")),
        }

    @property
    def _shows_the_key(self) -> bool:
        """Whether the id for people is the row's address itself."""
        return self.table.shown_id() == self.table.key_text()
