"""Storage parameters of a test's tables: set as a plan has it, put back, and as the catalog has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pgq_ops.job_table.table import Relation
from pgq_ops.schema.versions import install
from pgq_ops.stats.storage_parameters import LeafStorage
from pgq_ops.tasks.autovacuum import apply_leaf, leaf_now, revert_leaves, setting_rights
from pgq_ops.tasks.autovacuum.leaf_plan import LeafPlan, Wanted
from tests.support.binding import bind_toml
from tests.support.jobs import SMALL

if TYPE_CHECKING:
    from collections.abc import Collection

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.tasks.autovacuum.setting_outcome import LeafOutcome
    from tests.support.database import Database

COLUMNS = """
    id bigint NOT NULL, status text NOT NULL DEFAULT 'pending', run_at timestamptz, lease_until timestamptz,
    locked_by text, attempts int
"""
PLAIN = f"CREATE TABLE jobs ({COLUMNS}, PRIMARY KEY (id))"
PARTITIONED = f"""
    CREATE TABLE jobs ({COLUMNS}, PRIMARY KEY (id)) PARTITION BY RANGE (id);
    CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM (0) TO (100);
    CREATE TABLE jobs_2 PARTITION OF jobs FOR VALUES FROM (100) TO (200)
"""
# A threshold that changes, one that is new, and one of the TOAST table.
WANTED = {
    "autovacuum_vacuum_threshold": "500",
    "autovacuum_vacuum_scale_factor": "0",
    "vacuum_truncate": "off",
    "toast.autovacuum_vacuum_threshold": "1000",
}

Options = tuple[list[str] | None, list[str] | None]


def options(database: Database, table: str = "jobs") -> Options:
    """pg_class.reloptions of a table, and of its TOAST table."""
    [row] = database.rows(
        "SELECT c.reloptions, t.reloptions FROM pg_class AS c LEFT JOIN pg_class AS t ON t.oid = c.reltoastrelid"
        " WHERE c.oid = %s::regclass",
        [table],
    )
    return row


def relation_of(database: Database, table: str) -> Relation:
    [row] = database.rows(
        "SELECT c.oid::bigint, n.nspname::text, c.relname::text"
        " FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = %s::regclass",
        [table],
    )
    return Relation(*row)


@dataclass(frozen=True, slots=True)
class Storage:
    """A job table `jobs` in a database, with a session that sets its leaves' parameters."""

    database: Database
    connection: Connection
    table: JobTable
    owner_role: str | None = None

    @classmethod
    def of(cls, database: Database, *, role: str | None = None, owner_role: str | None = None, **more: Any) -> Storage:
        bound = bind_toml(database, SMALL, role=role, **more)
        return cls(database, bound.connection, bound.table, owner_role)

    def plan(self, leaf: str = "jobs", wanted: dict[str, str] | None = None) -> LeafPlan:
        """The plan that sets these parameters of a leaf, whatever they are now."""
        relation = relation_of(self.database, leaf)
        [now] = leaf_now.read(self.connection, [relation.oid])
        values = WANTED if wanted is None else wanted
        wants = tuple(Wanted(name, value, "", now.value(name)) for name, value in values.items())
        return LeafPlan(LeafStorage(relation), wants)

    def apply(self, leaf: str = "jobs", wanted: dict[str, str] | None = None) -> LeafOutcome:
        return self.carry_out(self.plan(leaf, wanted))

    def carry_out(self, plan: LeafPlan) -> LeafOutcome:
        setting_rights.require(self.connection, "autovacuum apply")
        return apply_leaf.apply(self.connection, self.table, plan, self.owner_role)

    def planned(self, parameters: Collection[str] | None = None) -> tuple[LeafOutcome, ...]:
        return revert_leaves.planned_revert(self.connection, self.table, parameters)

    def revert(self, parameters: Collection[str] | None = None, **more: Any) -> tuple[LeafOutcome, ...]:
        guard = more.pop("guard", lambda: True)
        return revert_leaves.revert(self.connection, self.table, guard, parameters, owner_role=self.owner_role, **more)

    def kept(self) -> list[tuple[Any, ...]]:
        """What is remembered and not over: table, parameter, old value, value set."""
        return self.database.rows(
            "SELECT table_name, parameter, old_value, set_value FROM pgq_ops.setting WHERE ended_at IS NULL"
            ' ORDER BY table_name, parameter COLLATE "C"'
        )


def made(database: Database, ddl: str = PLAIN, **more: Any) -> Storage:
    """The job table made, the schema installed."""
    database.execute(ddl)
    install(database.connect())
    return Storage.of(database, **more)
