"""The storage parameters of a job table's leaves, as they are set now."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.job_table.table import Relation
from pgq_ops.stats import bounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from psycopg import sql as composing

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

_TOAST = "toast."


@dataclass(frozen=True, slots=True)
class LeafStorage:
    """One leaf's own parameters, by name, as texts; those of its TOAST table under `toast.` and their name.

    `owner`: who may change them, and `may_change` whether the role that looked does (superusers, the owner, and members
    that inherit). `toast`: whether there is a TOAST table. `closed`: no row that is inserted now comes to lie here, by
    the upper bound; None where the bounds do not tell.

    Bounds tell where they are of a time: a DEFAULT partition, one without an end, and a table without partitions are
    never closed, and of numbers, lists and hashes nobody knows what comes next.
    """

    relation: Relation
    parameters: Mapping[str, str] = field(default_factory=dict)
    toast: bool = False
    owner: str = ""
    may_change: bool = True
    closed: bool | None = None


def read(connection: Connection, table: JobTable, owner_role: str | None = None) -> tuple[LeafStorage, ...]:
    """Those of the job table, or of all leaves attached to it, by name; reads the catalog and waits for no lock.

    `owner_role`: the role that this one may become to change them. Raises the driver's errors.
    """
    parameters = {"zone": table.clock.zone, "owner_role": owner_role}
    rows, _ = bounded.read(connection, table, _look(), parameters)
    return tuple(
        LeafStorage(
            Relation(oid, schema, name),
            _parsed(own) | {_TOAST + parameter: value for parameter, value in _parsed(toasts).items()},
            toast,
            owner,
            may_change,
            closed if table.partitioned else False,
        )
        for oid, schema, name, own, toasts, toast, owner, may_change, closed in rows
    )


@cache
def _look() -> composing.SQL:
    return bounded.composed_once(sql.statement("stats/storage_parameters"))


def _parsed(options: Sequence[str] | None) -> dict[str, str]:
    """`name=value`, as pg_class has them."""
    return dict(option.partition("=")[::2] for option in options or ())
