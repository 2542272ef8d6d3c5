"""The claim's SELECT: which rows in which order, as the statements about the next job need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops.job_table.columns import column
from pgq_ops.job_table.quoting import literal, type_name

if TYPE_CHECKING:
    from pgq_ops.job_table.table import JobTable


def fragments(table: JobTable) -> dict[str, composing.Composable]:
    """The parts of a statement over the ready jobs in the order in which they are claimed."""
    return {
        "table": table.relation.sql,
        "is_pending": table.is_state("pending"),
        "is_due": table.is_due(),
        "in_order": in_order(table),
    }


def in_order(table: JobTable) -> composing.Composable:
    """The claim's ORDER BY: the configured one; else by available_at, then the key; none where neither is there."""
    terms: list[composing.Composable] = [
        composing.SQL("{} DESC").format(column(name)) if descending else column(name)
        for name, descending in table.claim_order
    ]
    if not terms:
        available = table.fields.get("available_at")
        terms = [*([] if available is None else [available.value]), *(column(part.name) for part in table.key)]
    by = composing.SQL("ORDER BY {}") if terms else composing.SQL("")
    return by.format(composing.SQL(", ").join(terms))


def is_pending_by_parameter(table: JobTable) -> composing.Composable | None:
    """The condition with values that the planner does not know, as where a worker passes the state as a parameter.

    A sub-select stands for the parameter: like one it is known only to the executor, so that no partial index's
    predicate is proven. None where no column and values tell the state.
    """
    rule, state = table.states.get("pending"), table.fields.get("state")
    if rule is None or state is None or rule.where is not None:
        return None
    kind = type_name(state.base_type)
    values = [composing.SQL("(SELECT {}::{})").format(literal(value), kind) for value in rule.values]
    if len(values) == 1:
        return composing.SQL("{} = {}").format(state.value, values[0])
    return composing.SQL("{} = ANY (ARRAY[{}])").format(state.value, composing.SQL(", ").join(values))
