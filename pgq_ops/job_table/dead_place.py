"""Where dead letters are: in the job table's dead state, in the dead-letter table, or in both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from psycopg import sql

from pgq_ops.job_table.quoting import literal
from pgq_ops.job_table.table import StateRule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.job_table.table import JobTable, Relation

_EVERY_ROW = StateRule(where="true")
# What tells how long a job has been dead, and what tells at least that it has not been for longer.
_SINCE = ("finished_at", "created_at")


@dataclass(frozen=True, slots=True)
class DeadPlace:
    """One place with dead letters, as SQL over its row `j`.

    `job_table` is the one they belong to. `table` is the place itself in the same terms: the job table, or the
    dead-letter table as if it were one, with its own relation, key (often none) and types. All rows of a dead-letter
    table are dead, whatever their state column says.
    """

    job_table: JobTable
    table: JobTable

    def __str__(self) -> str:
        return str(self.table)

    @property
    def is_dead_letter_table(self) -> bool:
        """Whether the dead letters were moved here, rather than left in the job table."""
        return self.table.relation != self.job_table.relation

    @property
    def relation(self) -> Relation:
        """The table in which they are."""
        return self.table.relation

    def is_dead(self) -> sql.Composable:
        """Whether the row is a dead letter."""
        return sql.SQL("true") if self.is_dead_letter_table else self.table.is_state("dead")

    def shown_id(self) -> sql.Composable:
        """The job's mapped id as text, else its key in the job table, else the row's address here."""
        if "id" not in self.table.fields and self.job_table.key:
            return self.job_table.key_text()
        return self.table.shown_id()

    @property
    def age_since(self) -> str | None:
        """The field that ages count from: `finished_at`, or `created_at` where that is not mapped; None without both.

        A row whose `finished_at` is not known has an age since its creation too.
        """
        return next((name for name in _SINCE if name in self.table.fields), None)

    def age_since_of_row(self) -> sql.Composable:
        """The field that the row's own age counts from, as text; NULL where it has none."""
        cases = [
            sql.SQL("WHEN {} IS NOT NULL THEN {}").format(self.table.clock.finite(mapped), literal(name))
            for name in _SINCE
            if (mapped := self.table.fields.get(name)) is not None
        ]
        return sql.SQL("(CASE {} END)::text").format(sql.SQL(" ").join(cases)) if cases else sql.SQL("NULL::text")

    def died_at(self, *, deaths_alone: bool = False) -> sql.Composable:
        """When the job died as a finite timestamptz: `finished_at`, else `created_at`, else NULL.

        `deaths_alone`: `finished_at`, else NULL.
        """
        names = _SINCE[:1] if deaths_alone else _SINCE
        known = [self.table.fields[name] for name in names if name in self.table.fields]
        if not known:
            return sql.SQL("NULL::timestamptz")
        return sql.SQL("COALESCE({})").format(sql.SQL(", ").join(self.table.clock.finite(one) for one in known))

    def age_seconds(self, moment: sql.Composable | None = None) -> sql.Composable:
        """Seconds since `died_at()` (or the expression that holds it): never below 0, NULL where it is not known."""
        since = self.died_at() if moment is None else moment
        age = sql.SQL(
            "CASE WHEN {0} > pg_catalog.now() THEN 0 ELSE extract(epoch FROM pg_catalog.now() - {0}) END::float8"
        )
        return sql.SQL("({})").format(age.format(since))

    def text_of(self, field: str) -> sql.Composable:
        """A mapped field as text; NULL where it is not mapped."""
        mapped = self.table.fields.get(field)
        return sql.SQL("NULL::text") if mapped is None else sql.SQL("{}::text").format(mapped.value)

    def error(self) -> sql.Composable:
        """The whole error as text, the elements of an array on lines of their own; NULL where none is mapped."""
        mapped = self.table.fields.get("error")
        if mapped is not None and mapped.base_type.endswith("[]"):
            return sql.SQL("pg_catalog.array_to_string({}, E'\\n')").format(mapped.value)
        return self.text_of("error")


def dead_places(table: JobTable) -> tuple[DeadPlace, ...]:
    """The places where a job table's dead letters are, the job table first; a configuration names at least one."""
    places = [DeadPlace(table, table)] if "dead" in table.states else []
    if (letters := table.dead_letters) is not None:
        there = replace(
            table,
            relation=letters.relation,
            partitioned=letters.partitioned,
            key=letters.key,
            fields=letters.fields,
            states={"dead": _EVERY_ROW},
            dead_letters=None,
            all_visible_policies=letters.all_visible_policies,
        )
        places.append(DeadPlace(table, there))
    return tuple(places)


def age_since(table: JobTable) -> str | None:
    """What ages of a job table's dead letters count from: `created_at` where one of its places has nothing better."""
    return weakest_since(place.age_since for place in dead_places(table))


def weakest_since(fields: Iterable[str | None]) -> str | None:
    """Several places' `age_since` as one; those without any ages do not count."""
    known = set(fields)
    return next((name for name in reversed(_SINCE) if name in known), None)
