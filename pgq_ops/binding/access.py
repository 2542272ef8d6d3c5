"""What the session's role may do with the job table, and the exact statement that would allow what it may not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.binding import catalog
from pgq_ops.errors import NotPermitted
from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.binding.catalog import CatalogRelation
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable


def quoted(*parts: str) -> str:
    """A quoted name for a text to paste (a `%` stays one)."""
    return pasted(identifier(*parts))


def grant(connection: Connection, privilege: str, columns: Iterable[str], schema: str, name: str) -> str:
    """The GRANT of a privilege, on columns or (none given) on the whole table, to this session's role."""
    role = catalog.server(connection).role
    listed = ", ".join(quoted(column) for column in dict.fromkeys(columns))
    return f"GRANT {privilege}{f' ({listed})' if listed else ''} ON {quoted(schema, name)} TO {quoted(role)};"


def require_readable(
    connection: Connection, relation: CatalogRelation, columns: dict[str, catalog.CatalogColumn], wanted: list[str]
) -> None:
    """Raise NotPermitted unless SELECT on the wanted columns is there."""
    missing = [name for name in dict.fromkeys(wanted) if name in columns and not columns[name].readable]
    if missing:
        remedy = grant(connection, "SELECT", missing, relation.schema, relation.name)
        listed = ", ".join(missing)
        raise NotPermitted(f"the role may not read {listed} of {relation.schema}.{relation.name}", remedy)


def sees_every_row(connection: Connection, relation: CatalogRelation) -> bool:
    """Whether row-level security is on and hides nothing; False where it is off for this role.

    Raises NotPermitted where a policy, or the lack of one, would hide rows: an empty answer would look healthy.
    """
    if not relation.row_security_active:
        return False
    if policies_allow(connection, relation.oid, "r"):
        return True
    role = catalog.server(connection).role
    table = quoted(relation.schema, relation.name)
    remedy = f"CREATE POLICY pgq_ops ON {table} TO {quoted(role)} USING (true);"
    raise NotPermitted(f"row-level security hides rows of {table} from role {role}", remedy)


def policies_allow(connection: Connection, oid: int, command: str) -> bool:
    """Whether the policies for a command (a letter of `polcmd`) let this role's statements reach every row."""
    found = connection.execute(sql.statement("catalog/row_security_policies"), {"oid": oid}).fetchall()
    policies = [policy for policy in found if policy[1] in ("*", command)]
    everything = any(policy[2] for policy in policies)
    anything = command != "w" or any(policy[4] for policy in policies)
    return everything and anything and all(policy[3] for policy in policies)


def require_reapable(connection: Connection, table: JobTable, columns: tuple[str, ...]) -> None:
    """Raise NotPermitted unless the role may write the columns, and move jobs where a dead-letter table is set.

    Asks the server anew, since a GRANT may have come meanwhile.
    """
    known = catalog.columns(connection, table.relation.oid)
    schema, name = table.relation.schema, table.relation.name
    missing = [column for column in columns if column in known and not known[column].updatable]
    remedies = [grant(connection, "UPDATE", missing, schema, name)] if missing else []
    commands = "wd" if table.dead_letters is not None else "w"
    if table.all_visible_policies and not all(policies_allow(connection, table.relation.oid, one) for one in commands):
        role = quoted(catalog.server(connection).role)
        remedies.append(f"CREATE POLICY pgq_ops ON {quoted(schema, name)} TO {role} USING (true) WITH CHECK (true);")
    if table.dead_letters is not None:
        there = table.dead_letters.relation
        for relation, privilege in ((table.relation, "DELETE"), (table.relation, "SELECT"), (there, "INSERT")):
            query = "SELECT pg_catalog.has_table_privilege(%(oid)s::oid, %(privilege)s)"
            row = connection.execute(query, {"oid": relation.oid, "privilege": privilege}).fetchone()
            if row is not None and not row[0]:
                remedies.append(grant(connection, privilege, (), relation.schema, relation.name))
    if remedies:
        raise NotPermitted(f"the role may not reap {table}", "\n  ".join(remedies))
