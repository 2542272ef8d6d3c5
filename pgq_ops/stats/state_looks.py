"""The looks at the single states, with the catalog's numbers: in one message as long as none is cut off."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops.stats import bounded, job_count, job_sample, relation_rows
from pgq_ops.stats.index_support import STATES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from psycopg import sql as composing

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.index_support import IndexSupport
    from pgq_ops.stats.job_sample import Sampled
    from pgq_ops.stats.relation_rows import RelationRows


@dataclass(frozen=True, slots=True)
class StateLooks:
    """The rows by state, as far as they were looked at; `cut_off` are the states whose look took too long.

    `at`: when the looks were made, in epoch seconds.
    """

    at: float
    rows: Mapping[str, list[Sampled]]
    relations: RelationRows
    cut_off: frozenset[str] = frozenset()


def read(  # noqa: PLR0913 (what is looked at, each part of it by its name)
    connection: Connection,
    table: JobTable,
    support: IndexSupport,
    pending: composing.SQL | None,
    *,
    one_by_one: bool,
    crowded: frozenset[str] = frozenset(),
) -> StateLooks:
    """Look at each state that an index leads to, and make the look at pending jobs if there is one.

    `crowded`: states that need no more than a brief look.
    `one_by_one`: to be said while looks are cut off, since of several in one message all would have to be made
    again; pending jobs are left out then, and where this turns out to be so. Raises the driver's errors but the
    timeout's.
    """
    looks = {
        question.value: serving.counting(brief=question.value in crowded)
        for question, serving in support.serving.items()
        if question in STATES
    }
    if one_by_one:
        return _each(connection, table, support, looks)
    if pending is not None:
        with suppress(errors.QueryCanceled):
            return _together(connection, table, support, {**looks, "pending": pending})
    try:
        seen = _together(connection, table, support, looks)
    except errors.QueryCanceled:
        return _each(connection, table, support, looks)
    # Without the look at pending jobs it went well: to make that one alone as well would take the timeout again.
    return seen if pending is None else replace(seen, cut_off=frozenset({"pending"}))


def _each(
    connection: Connection, table: JobTable, support: IndexSupport, looks: Mapping[str, composing.SQL]
) -> StateLooks:
    rows = {}
    for state, look in looks.items():
        with suppress(errors.QueryCanceled):
            rows[state] = _together(connection, table, support, {state: look}).rows[state]
    catalog = _together(connection, table, support, {})
    return StateLooks(catalog.at, rows, catalog.relations, frozenset(looks) - frozenset(rows))


def _together(
    connection: Connection, table: JobTable, support: IndexSupport, looks: Mapping[str, composing.SQL]
) -> StateLooks:
    parameters = {**job_count.LIMITS, **relation_rows.parameters(support)}
    every = [*looks.values(), relation_rows.look()]
    (*found, numbers), at = bounded.read_all(connection, table, every, parameters, again=True)
    rows = {state: job_sample.parsed(one) for state, one in zip(looks, found, strict=True)}
    return StateLooks(at, rows, relation_rows.parsed(support, numbers))
