"""What each tier of privileges is made of, for one job table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.job_table.changes import written_columns
from pgq_ops.job_table.dead_place import dead_places
from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier
from pgq_ops.job_table.retry_changes import RetryChanges, lockable
from pgq_ops.job_table.table import Relation
from pgq_ops.schema.expression_columns import columns_read, mapped_expressions, written_expressions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.dead_place import DeadPlace
    from pgq_ops.job_table.table import JobTable

_MAINTAIN_SINCE = 170_000
_INHERIT_OPTION_SINCE = 160_000
# A row without a primary key, and one found by scanning a stretch of the table, is addressed by the first two; xmax
# tells who holds it locked.
_ADDRESS = frozenset({"tableoid", "ctid", "xmax"})


@dataclass(frozen=True, slots=True)
class Grant:
    """One statement, without its semicolon, and the reason for it; a mere remark where `statement` is empty."""

    why: str
    statement: str = ""


def quoted(*parts: str) -> str:
    """A quoted name as text (a `%` stays one)."""
    return pasted(identifier(*parts))


def membership(server_version: int, owner: str, role: str) -> str:
    """The GRANT by which a role may become the owner; from PostgreSQL 16 on it has the owner's rights only then."""
    option = " WITH INHERIT FALSE, SET TRUE" if server_version >= _INHERIT_OPTION_SINCE else ""
    return f"GRANT {quoted(owner)} TO {quoted(role)}{option}"


@dataclass(frozen=True, slots=True)
class TableGrants:
    """The grants on one job table to one role; `payload`: the role may read the mapped payload too."""

    connection: Connection
    table: JobTable
    role: str
    payload: bool = False

    def observe(self) -> Iterator[Grant]:
        """SELECT on the mapped columns, the key and what the mapped expressions read."""
        relation = self.table.relation
        read = self._read_by_expressions()
        also = f"; expressions of the mapping read {', '.join(sorted(read))}" if read else ""
        yield from self._usage(relation)
        yield self._columns("SELECT", self._named() | read, relation, f"the mapped columns and the row's address{also}")
        if (letters := self.table.dead_letters) is not None:
            yield from self._usage(letters.relation)
            there = self._named() | read | {part.name for part in letters.key}
            yield self._columns("SELECT", there, letters.relation, "to see the dead letters that were moved to there")
        if self._owner()[2]:
            policy = f"CREATE POLICY pgq_ops ON {_name(relation)} TO {quoted(self.role)} USING (true);"
            yield self._because(f"row-level security is on, and the role must see every row: {policy}")

    def reap(self) -> Iterator[Grant]:
        """UPDATE on the columns that a reap writes; what moving buried jobs needs, where they are moved."""
        letters, leaves = self.table.dead_letters, self._leaves()
        written = set(written_columns(self.table))
        read = self._named() | self._read_by_expressions(writing=True) | written
        if leaves:
            yield self._because(
                "a new partition needs these grants too: until then its jobs are reaped through the parent"
            )
        for relation in (self.table.relation, *leaves):
            yield from self._usage(relation)
            if letters is None:
                yield self._columns("SELECT", read, relation, "to find expired jobs")
            else:
                yield self._whole("SELECT, DELETE", relation, "buried jobs are moved away with all of their columns")
            yield self._columns("UPDATE", written, relation, "to requeue and to bury")
        if letters is not None:
            yield from self._usage(letters.relation)
            yield self._whole("SELECT, INSERT", letters.relation, "buried jobs are moved to here")

    def dead(self) -> Iterator[Grant]:
        """What a person needs to retry and to purge dead letters: nothing that the agent does."""
        for place in dead_places(self.table):
            if place.is_dead_letter_table:
                yield from self._usage(place.relation)
                yield self._whole("SELECT, DELETE", place.relation, "dead letters are taken from here, or purged")
                yield self._columns("UPDATE", lockable(place), place.relation, "without it no row can be locked")
                yield from self._usage(self.table.relation)
                yield self._whole("INSERT", self.table.relation, "dead letters are moved back with all they have")
                continue
            for relation in (place.relation, *self._leaves()):
                yield from self._usage(relation)
                yield self._whole("SELECT, DELETE", relation, "dead letters are purged once all of them is exported")
                yield self._columns("UPDATE", self._retried(place), relation, "to retry dead letters")

    def _retried(self, place: DeadPlace) -> tuple[str, ...]:
        pending = self.table.states.get("pending")
        if pending is None or not pending.writes:
            return lockable(place)
        return RetryChanges(self.table).written_columns()

    def vacuum(self) -> Iterator[Grant]:
        """MAINTAIN, where the server has it."""
        if self.connection.info.server_version < _MAINTAIN_SINCE:
            yield self._because("before PostgreSQL 17 only the owner may VACUUM: grant the tier tune instead")
            return
        for relation in (self.table.relation, *self._partitions()):
            yield from self._usage(relation)
            yield self._whole("MAINTAIN", relation, "to VACUUM and ANALYZE")

    def own(self) -> Iterator[Grant]:
        """Membership in the owner's role, which DDL needs."""
        owner, is_superuser, _ = self._owner()
        if owner == self.role:
            yield self._because("the role owns the table already")
        elif is_superuser:
            yield self._because(f"its owner {quoted(owner)} is a superuser: first give the table an owner that is none")
        else:
            why = f"to change the table as its owner; set database.owner_role to {owner}"
            yield self._because(why, membership(self.connection.info.server_version, owner, self.role))

    def _named(self) -> set[str]:
        fields = {part: field.name for part, field in self.table.fields.items() if field.name is not None}
        if not self.payload:
            fields.pop("payload", None)
        order = {name for name, _ in self.table.claim_order}
        return {*fields.values(), *order, *(part.name for part in self.table.key), *_ADDRESS}

    def _read_by_expressions(self, *, writing: bool = False) -> frozenset[str]:
        expressions = mapped_expressions(self.table, payload=self.payload)
        expressions += written_expressions(self.table) if writing else []
        return columns_read(self.connection, self.table.relation, self._catalog_columns(), expressions)

    def _catalog_columns(self) -> list[str]:
        found = self.connection.execute(sql.statement("catalog/columns"), {"oid": self.table.relation.oid})
        return [str(row[0]) for row in found.fetchall()]

    def _partitions(self) -> list[Relation]:
        if not self.table.partitioned:
            return []
        parameters = {"oid": self.table.relation.oid, "columns": [], "deleting": False}
        rows = self.connection.execute(sql.statement("catalog/leaves"), parameters).fetchall()
        return [Relation(oid, schema, name) for oid, schema, name, *_ in rows]

    def _leaves(self) -> list[Relation]:
        """The partitions that are written by themselves; none where rows move between them."""
        return [] if self.table.moves_rows else self._partitions()

    def _owner(self) -> tuple[str, bool, bool]:
        """The owner, whether that is a superuser, whether row-level security is on."""
        oid = {"oid": self.table.relation.oid}
        row = self.connection.execute(sql.statement("catalog/table_owner"), oid).fetchone()
        return ("", False, False) if row is None else (row[0], row[1], row[2])

    def _usage(self, relation: Relation) -> Iterator[Grant]:
        """USAGE on the schema, which a table's owner can seldom grant, where the role does not have it."""
        query = "SELECT pg_catalog.has_schema_privilege(%(role)s, %(schema)s, 'USAGE')"
        row = self.connection.execute(query, {"role": self.role, "schema": relation.schema}).fetchone()
        if row is None or not row[0]:
            statement = f"GRANT USAGE ON SCHEMA {quoted(relation.schema)} TO {quoted(self.role)}"
            yield self._because("to find the table", statement)

    def _columns(self, privilege: str, columns: Collection[str], relation: Relation, why: str) -> Grant:
        order = [*self._catalog_columns(), *sorted(columns)]
        listed = ", ".join(quoted(column) for column in dict.fromkeys(order) if column in columns)
        return self._whole(f"{privilege} ({listed})", relation, why)

    def _whole(self, privilege: str, relation: Relation, why: str) -> Grant:
        return self._because(why, f"GRANT {privilege} ON TABLE {_name(relation)} TO {quoted(self.role)}")

    def _because(self, why: str, statement: str = "") -> Grant:
        return Grant(f"{self.table.name}: {why}", statement)


def _name(relation: Relation) -> str:
    return quoted(relation.schema, relation.name)
