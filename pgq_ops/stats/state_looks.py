"""The looks at all states but pending, with the catalog's numbers: in one message, or each on its own."""

from __future__ import annotations

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
    """The rows by state, without those that no index leads to or whose look was cut off (`cut_off`: one was)."""

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
    parameters = {"limit": job_sample.CAP + 1, **relation_rows.parameters(support)}
    if not one_by_one:
        try:
            *found, numbers = bounded.read_all(connection, table, [*looks.values(), relation_rows.look()], parameters)
        except errors.QueryCanceled:
            pass
        else:
            rows = {state: job_sample.parsed(one) for state, one in zip(looks, found, strict=True)}
            return StateLooks(rows, relation_rows.parsed(support, numbers))
    return _one_by_one(connection, table, support, looks)


def _one_by_one(
    connection: Connection, table: JobTable, support: IndexSupport, looks: Mapping[str, composing.SQL]
) -> StateLooks:
    rows = {}
    for state, look in looks.items():
        try:
            found, _ = bounded.read(connection, table, look, {"limit": job_sample.CAP + 1})
        except errors.QueryCanceled:
            continue
        rows[state] = job_sample.parsed(found)
    return StateLooks(rows, relation_rows.read(connection, support), cut_off=len(rows) < len(looks))
