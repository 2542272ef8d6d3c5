"""How a row of the dead-letter table becomes a job again: which columns, in which types, and what would be lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.binding import catalog
from pgq_ops.job_table.columns import column
from pgq_ops.job_table.quoting import expression, identifier, literal, type_name
from pgq_ops.tasks.dead_narrowing import is_cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pgq_ops.binding.catalog import CatalogColumn
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.dead_place import DeadPlace


@dataclass(frozen=True, slots=True)
class WayBack:
    """The columns of the job table (`jobs`) and of the dead-letter table (`letters`), by name.

    `defaults`: the default expressions of the job table. `kept_for_itself`: columns of the dead-letter table that it
    fills by itself, by a computed default (when it was buried), so that they are no part of the job. `constants`: those
    of its defaults that are the same for each row.
    """

    jobs: Mapping[str, CatalogColumn]
    letters: Mapping[str, CatalogColumn]
    defaults: Mapping[str, str]
    kept_for_itself: frozenset[str]
    constants: Mapping[str, str]

    @classmethod
    def read(cls, connection: Connection, place: DeadPlace) -> WayBack:
        """Ask the catalog. Raises the driver's errors."""
        job_oid, oid = place.job_table.relation.oid, place.relation.oid
        jobs, letters = catalog.columns(connection, job_oid), catalog.columns(connection, oid)
        defaults = _defaults(connection, job_oid)
        there = _defaults(connection, oid)
        own = {name for name, found in letters.items() if found.identity or found.generated}
        return cls(
            jobs=jobs,
            letters=letters,
            defaults={name: text for name, (text, _) in defaults.items()},
            kept_for_itself=frozenset(own | {name for name, (_, computed) in there.items() if computed}),
            constants={name: text for name, (text, computed) in there.items() if not computed},
        )

    def inserted(self, written: Iterable[str]) -> list[str]:
        """The columns that a job gets its values from: the row's own and those that a retry writes."""
        wanted = {*self.letters, *written}
        return [name for name, found in self.jobs.items() if name in wanted and not found.generated]

    def typed(self) -> composing.Composable:
        """What jobs have of the row `removed`, in the job table's types."""
        return composing.SQL(", ").join(
            composing.SQL("{} AS {}").format(self._typed(name), identifier(name))
            for name in self.jobs
            if name in self.letters
        )

    def _typed(self, name: str) -> composing.Composable:
        source = composing.SQL("removed.{}").format(identifier(name))
        wanted = self.jobs[name].base_type
        # Without the modifier, which a cast would meet by cutting and an assignment refuses.
        if self.letters[name].base_type == wanted:
            return source
        return composing.SQL("{}::{}").format(source, type_name(wanted))

    def value(self, name: str) -> composing.Composable:
        """The row's own value of a job's column; one that must not be NULL and is gets the job table's default."""
        own = column(name)
        default = self.defaults.get(name)
        if default is None or not self.jobs[name].not_null:
            return own
        return composing.SQL("COALESCE({}, {})").format(own, expression(default))

    def lost(self) -> composing.Composable:
        """The names of columns of the row `j` whose values no job could hold, as a text array."""
        names = [name for name in self.letters if name not in self.jobs and name not in self.kept_for_itself]
        cases = [composing.SQL("CASE WHEN {} THEN {} END").format(self._is_lost(name), literal(name)) for name in names]
        return composing.SQL("pg_catalog.array_remove(ARRAY[{}]::text[], NULL)").format(composing.SQL(", ").join(cases))

    def cut(self, written: Iterable[str]) -> composing.Composable:
        """The names of columns of the row `j` whose values jobs would hold rounded or shortened, as a text array.

        Not of those that a retry writes. Computing it fails where a value is beyond what the column can hold.
        """
        skipped = {*written, *(name for name, found in self.jobs.items() if found.generated)}
        cases = [
            composing.SQL("CASE WHEN {} THEN {} END").format(changed, literal(name))
            for name in self.jobs
            if name in self.letters and name not in skipped
            if (changed := is_cut(column(name), self.letters[name], self.jobs[name])) is not None
        ]
        return composing.SQL("pg_catalog.array_remove(ARRAY[{}]::text[], NULL)").format(composing.SQL(", ").join(cases))

    def _is_lost(self, name: str) -> composing.Composable:
        own = column(name)
        # Of a row type, IS NOT NULL would ask whether every part is.
        is_there = composing.SQL("{} IS DISTINCT FROM NULL").format(own)
        if (default := self.constants.get(name)) is None:
            return is_there
        same = composing.SQL("{}::text IS NOT DISTINCT FROM ({}::{})::text").format(
            own, expression(default), type_name(self.letters[name].type_name)
        )
        return composing.SQL("({} AND NOT {})").format(is_there, same)


def _defaults(connection: Connection, oid: int) -> dict[str, tuple[str, bool]]:
    rows = connection.execute(sql.statement("dead/column_defaults"), {"oid": oid}).fetchall()
    return {name: (text, computed) for name, text, computed in rows}
