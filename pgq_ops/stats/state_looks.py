"""The looks at all states but pending, with the catalog's numbers: in one message, or each on its own."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops.stats import bounded, job_sample, relation_rows
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
    """The rows by state, without those that no index leads to or whose look was cut off (`cut_off`: one was).

    `at`: when the looks were made, in epoch seconds.
    """

    at: float
    rows: Mapping[str, list[Sampled]]
    relations: RelationRows
    cut_off: bool = False


def read(connection: Connection, table: JobTable, support: IndexSupport, *, one_by_one: bool) -> StateLooks:
    """Look at each state that an index leads to; raises the driver's errors but the timeout's.

    `one_by_one`: each on its own from the start. To be said while looks are cut off: of several in one message
    all would have to be made again.
    """
    looks = {
        question.value: serving.alone or serving.look
        for question, serving in support.serving.items()
        if question in STATES
    }
    if not one_by_one:
        try:
            return _together(connection, table, support, looks)
        except errors.QueryCanceled:
            pass
    seen = {}
    for state, look in looks.items():
        with suppress(errors.QueryCanceled):
            seen[state] = _together(connection, table, support, {state: look}).rows[state]
    catalog = _together(connection, table, support, {})
    return StateLooks(catalog.at, seen, catalog.relations, cut_off=len(seen) < len(looks))


def _together(
    connection: Connection, table: JobTable, support: IndexSupport, looks: Mapping[str, composing.SQL]
) -> StateLooks:
    parameters = {"limit": job_sample.CAP + 1, **relation_rows.parameters(support)}
    every = [*looks.values(), relation_rows.look()]
    (*found, numbers), at = bounded.read_all(connection, table, every, parameters)
    rows = {state: job_sample.parsed(one) for state, one in zip(looks, found, strict=True)}
    return StateLooks(at, rows, relation_rows.parsed(support, numbers))
