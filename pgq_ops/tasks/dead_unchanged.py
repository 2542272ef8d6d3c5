"""Whether what a retry or a purge was allowed to touch is still as it was, asked when a batch has its locks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops.errors import TableChanged
from pgq_ops.tasks import dead_cascades
from pgq_ops.tasks.reap_leaves import is_attached

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.cascade import Cascade
    from pgq_ops.job_table.dead_place import DeadPlace
    from pgq_ops.job_table.table import Relation


class PartitionGone(TableChanged):
    """A partition was detached, or dropped, or another table has its name; the other ones may go on."""


def require_attached(connection: Connection, place: DeadPlace, relation: Relation) -> None:
    """Raise PartitionGone where what a batch wrote to, by its name, is no longer the place or a part of it.

    Within the batch's transaction and after its statement, whose lock lets nobody complete a detachment until it is
    over.
    """
    query = composing.SQL("SELECT {}").format(is_attached(place.relation, relation))
    row = connection.execute(query, {}).fetchone()
    if row is None or not row[0]:
        raise PartitionGone(f"{relation} is no longer a part of {place}, and what was left in it is as it was")


def require_same_cascades(connection: Connection, place: DeadPlace, known: Sequence[Cascade]) -> None:
    """Raise TableChanged where a foreign key has come that would change other tables, which nobody agreed to.

    When `require_attached` is asked too: a foreign key needs a lock that the batch's own keeps away.
    """
    if new := set(dead_cascades.read(connection, place.relation)) - set(known):
        listed = "; ".join(sorted(map(str, new)))
        raise TableChanged(f"{place} has a new foreign key to it: {listed}: run the command again")
