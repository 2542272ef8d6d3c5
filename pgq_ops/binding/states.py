"""Checks that each configured state is one the table can hold, and prepares how it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.binding.fields import expression_type, suggest
from pgq_ops.config.states import StateValues
from pgq_ops.errors import Problem
from pgq_ops.job_table.columns import INTEGER_TYPES, NUMBER_TYPES
from pgq_ops.job_table.quoting import expression, identifier, literal, type_name
from pgq_ops.job_table.table import StateRule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.binding.catalog import CatalogColumn
    from pgq_ops.config.states import StatePredicate, States
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.columns import MappedColumn
    from pgq_ops.job_table.table import Relation


@dataclass(slots=True)
class StateMapper:
    """Collects the state rules and problems of one job table."""

    connection: Connection
    relation: Relation
    catalog: Mapping[str, CatalogColumn]
    key: str
    problems: list[Problem]

    def map(self, states: States, state: MappedColumn | None, *, state_wanted: bool) -> dict[str, StateRule]:
        """The rule of each mapped state. `state_wanted`: the config names a state column, found or not."""
        rules: dict[str, StateRule] = {}
        for name, spec in states.mapped().items():
            key = f"{self.key}.states.{name}"
            if not isinstance(spec, StateValues):
                rules[name] = self._predicate(key, spec)
            elif state is not None:
                rules[name] = self._values(key, spec.values, state)
            elif not state_wanted:
                hint = 'map columns.state, or write { where = "predicate" }'
                self.problems.append(Problem(key, "has values, but no state column is mapped", hint))
        return rules

    def _values(self, key: str, values: tuple[str | int | bool, ...], state: MappedColumn) -> StateRule:
        for value in values:
            problem = self._impossible(value, state)
            if problem is not None:
                self.problems.append(Problem(key, *problem))
        writes = {}
        if state.name is not None:
            writes[state.name] = composing.SQL("{}::{}").format(literal(values[0]), type_name(state.base_type))
        return StateRule(values=values, writes=writes)

    def _impossible(self, value: str | int | bool, state: MappedColumn) -> tuple[str, str] | None:  # noqa: FBT001
        """Why the state column cannot hold the value, and what it can; None if it can."""
        shown = f"column {state.name!r} ({state.type_name})" if state.name else "the state expression"
        labels = self.catalog[state.name].labels if state.name else None
        if labels is not None and value not in labels:
            return f"{shown} cannot hold {value!r}", "its values are " + ", ".join(labels)
        wanted = int if state.base_type in INTEGER_TYPES else bool if state.base_type == "boolean" else str
        number = type(value) is int and state.base_type in NUMBER_TYPES
        if type(value) is not wanted and not number:
            kind = {int: "an integer", bool: "true or false", str: "text in quotes"}[wanted]
            return f"{shown} cannot hold {value!r}", f"write {kind}"
        if state.length is not None and len(str(value)) > state.length:
            return f"{shown} cannot hold {value!r}", f"it has room for {state.length} characters"
        return None if state.name is None else self._refused(value, state, shown)

    def _refused(self, value: str | int | bool, state: MappedColumn, shown: str) -> tuple[str, str] | None:  # noqa: FBT001
        """Which CHECK (or domain) refuses the value: its expression is evaluated by the server over the value alone."""
        checks = self.connection.execute(
            sql.statement("catalog/check_constraints"), {"oid": self.relation.oid}
        ).fetchall()
        mine = [(name, text) for name, column, text in checks if column == state.name]
        try:
            for name, text in [*mine, ("", "true")]:
                query = composing.SQL("SELECT {0}, {3} IS NULL FROM (SELECT {1}::{2} AS {3}) AS j").format(
                    expression(text), literal(value), type_name(state.type_name), identifier(str(state.name))
                )
                row = self.connection.execute(query, {}).fetchone()
                if row is not None and row[0] is False:
                    return f"{shown} cannot hold {value!r}", f"constraint {name} allows {text}"
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            return f"{shown} cannot hold {value!r}", str(error.diag.message_primary)
        return None

    def _predicate(self, key: str, spec: StatePredicate) -> StateRule:
        found = expression_type(self.connection, self.relation, expression(spec.where), f"{key}.where", self.problems)
        if found not in (None, "boolean"):
            self.problems.append(Problem(f"{key}.where", f"is {found}, not a condition"))
        writes: dict[str, composing.Composable] = {}
        for name, text in spec.set.items():
            known = self.catalog.get(name)
            if known is None:
                what = f"{self.relation} has no column {name!r}"
                self.problems.append(Problem(f"{key}.set.{name}", what, suggest(name, self.catalog)))
                continue
            if known.generated:
                self.problems.append(
                    Problem(f"{key}.set.{name}", f"column {name!r} is generated and cannot be written")
                )
            writes[name] = composing.SQL("{}::{}").format(expression(text), type_name(known.base_type))
            expression_type(self.connection, self.relation, writes[name], f"{key}.set.{name}", self.problems)
        return StateRule(where=spec.where, writes=writes)
