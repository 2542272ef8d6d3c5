"""Whether the session's role may retry or purge dead letters, and the exact statements that would allow it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.binding import catalog
from pgq_ops.binding.access import grant, policies_allow, quoted
from pgq_ops.errors import NotPermitted
from pgq_ops.job_table.retry_changes import lockable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.dead_place import DeadPlace
    from pgq_ops.job_table.table import Relation


def require_retryable(
    connection: Connection, places: Sequence[DeadPlace], written: Sequence[str], inserted: Sequence[str]
) -> None:
    """Raise NotPermitted unless the role may write these columns, and may move jobs back with those `inserted`."""
    remedies: list[str] = []
    for place in places:
        jobs = place.job_table.relation
        if place.is_dead_letter_table:
            remedies += _on_table(connection, place.relation, "SELECT", "DELETE")
            remedies += _to_lock(connection, place)
            remedies += _on_columns(connection, jobs, "INSERT", inserted)
            remedies += _policy(connection, place, "rwd")
        else:
            remedies += _on_columns(connection, jobs, "UPDATE", written)
            remedies += _policy(connection, place, "rw")
    if remedies:
        raise NotPermitted(f"the role may not retry the dead letters of {_listed(places)}", "\n  ".join(remedies))


def require_purgeable(connection: Connection, places: Sequence[DeadPlace], *, exporting: bool) -> None:
    """Raise NotPermitted unless the role may delete dead letters, and read all of them where they are exported."""
    remedies: list[str] = []
    for place in places:
        remedies += _on_table(connection, place.relation, "DELETE")
        remedies += _to_lock(connection, place)
        remedies += _policy(connection, place, "rwd")
    if remedies:
        raise NotPermitted(f"the role may not purge the dead letters of {_listed(places)}", "\n  ".join(remedies))
    hidden = {place.relation: _hidden(connection, place) for place in places if exporting}
    remedies = [
        grant(connection, "SELECT", columns, relation.schema, relation.name)
        for relation, columns in hidden.items()
        if columns
    ]
    if remedies:
        names = ", ".join(dict.fromkeys(name for columns in hidden.values() for name in columns))
        what = f"the role may not read {names} of {_listed(places)}, so they cannot be exported"
        raise NotPermitted(what, "\n  ".join([*remedies, "or --no-export, and they are gone for good"]))


def _listed(places: Sequence[DeadPlace]) -> str:
    return " and ".join(map(str, places))


def _hidden(connection: Connection, place: DeadPlace) -> list[str]:
    found = catalog.columns(connection, place.relation.oid)
    return [name for name, column in found.items() if not column.readable]


def _on_table(connection: Connection, relation: Relation, *privileges: str) -> Iterable[str]:
    for privilege in privileges:
        query = "SELECT pg_catalog.has_table_privilege(%(oid)s::oid, %(privilege)s)"
        row = connection.execute(query, {"oid": relation.oid, "privilege": privilege}).fetchone()
        if row is None or not row[0]:
            yield grant(connection, privilege, (), relation.schema, relation.name)


def _on_columns(connection: Connection, relation: Relation, privilege: str, columns: Iterable[str]) -> Iterable[str]:
    known = catalog.columns(connection, relation.oid)

    def may(column: str) -> bool:
        return known[column].updatable if privilege == "UPDATE" else known[column].insertable

    missing = [column for column in columns if column in known and not may(column)]
    if missing:
        yield grant(connection, privilege, missing, relation.schema, relation.name)


def _to_lock(connection: Connection, place: DeadPlace) -> Iterable[str]:
    """FOR UPDATE asks for the right to update some column, whichever."""
    known = catalog.columns(connection, place.relation.oid)
    if not any(column.updatable for column in known.values()):
        yield grant(connection, "UPDATE", lockable(place), place.relation.schema, place.relation.name)


def _policy(connection: Connection, place: DeadPlace, commands: str) -> Iterable[str]:
    """Row-level security that would let the statement find fewer rows; `commands`: letters of `polcmd`.

    To lock a row takes the policies for changing it.
    """
    relation = place.relation
    row = connection.execute("SELECT pg_catalog.row_security_active(%(oid)s::oid)", {"oid": relation.oid}).fetchone()
    active = row is not None and row[0]
    if active and not all(policies_allow(connection, relation.oid, command) for command in commands):
        role = quoted(catalog.server(connection).role)
        name = quoted(relation.schema, relation.name)
        yield f"CREATE POLICY pgq_ops ON {name} TO {role} USING (true) WITH CHECK (true);"
