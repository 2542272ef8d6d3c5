"""The bound job table: names and types from the catalog, the mapping and the policies from the config."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from psycopg import sql

from pgq_ops.job_table.columns import column
from pgq_ops.job_table.quoting import all_of, any_of, expression, identifier, literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.config.policy import QueuePolicy
    from pgq_ops.job_table.cascade import Cascade
    from pgq_ops.job_table.columns import Clock, MappedColumn


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as the catalog knows it: the job table itself, one of its leaves, a dead-letter table."""

    oid: int
    schema: str
    name: str

    @property
    def sql(self) -> sql.Composable:
        """The quoted, qualified name."""
        return identifier(self.schema, self.name)

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """One column of the primary key, with its type as `format_type()` prints it."""

    name: str
    type_name: str


@dataclass(frozen=True, slots=True)
class StateRule:
    """How one state is recognised and how it is written.

    `values` (already valid for the column) or `where`; `writes` maps columns to SQL expressions, empty
    where the state cannot be written.
    """

    values: tuple[str | int | bool, ...] = ()
    where: str | None = None
    writes: Mapping[str, sql.Composable] = field(default_factory=dict)

    def predicate(self, state: MappedColumn | None) -> sql.Composable:
        """The condition with literal values: only those can use a partial index."""
        if self.where is not None:
            return expression(self.where)
        if state is None:
            raise ValueError("values without a state column")
        if len(self.values) == 1:
            return sql.SQL("{} = {}").format(state.value, literal(self.values[0]))
        return sql.SQL("{} IN ({})").format(state.value, sql.SQL(", ").join(literal(value) for value in self.values))


@dataclass(frozen=True, slots=True)
class DeadLetterTable:
    """Where buried jobs are moved to, the columns that are copied, by name, and all that a job has.

    `key` is its own primary key, empty without one; `fields` are the job table's, as this one stores them. `cascades`
    are the foreign keys by which other tables change when a job leaves the job table. `all_visible_policies` as in
    JobTable.
    """

    relation: Relation
    columns: tuple[str, ...]
    job_columns: frozenset[str]
    partitioned: bool
    key: tuple[KeyColumn, ...]
    fields: Mapping[str, MappedColumn]
    cascades: tuple[Cascade, ...] = ()
    all_visible_policies: bool = False


@dataclass(frozen=True, slots=True)
class JobTable:
    """A job table bound to the catalog.

    `name` is its name in the config. `fields` maps the design's words (`lease_expires_at`, `owner`, ...)
    to columns. `key` is the primary key, empty without one. `policies` starts with the default one.
    `moves_rows`: a column that reaping writes is part of the partition key, so only the parent can write.
    `all_visible_policies`: row-level security is on, with policies that hide nothing from this role.
    """

    name: str
    relation: Relation
    partitioned: bool
    key: tuple[KeyColumn, ...]
    fields: Mapping[str, MappedColumn]
    states: Mapping[str, StateRule]
    policies: tuple[QueuePolicy, ...]
    clock: Clock
    claim_order: tuple[tuple[str, bool], ...] = ()
    moves_rows: bool = False
    all_visible_policies: bool = False
    dead_letters: DeadLetterTable | None = None

    def __str__(self) -> str:
        return str(self.relation)

    @property
    def has_lease(self) -> bool:
        """Whether any column tells when a job's lease ends."""
        return any(name in self.fields for name in ("lease_expires_at", "heartbeat_at", "leased_at"))

    def is_state(self, *names: str) -> sql.Composable:
        """Whether the row is in one of the states; false for those that are not mapped."""
        state = self.fields.get("state")
        return any_of([self.states[name].predicate(state) for name in names if name in self.states])

    def is_due(self) -> sql.Composable:
        """Whether a pending row may be claimed now; NULL counts as due."""
        available = self.fields.get("available_at")
        if available is None:
            return sql.SQL("true")
        due = self.clock.is_past(available)
        return due if available.not_null else sql.SQL("({} IS NULL OR {})").format(available.value, due)

    def queue(self) -> sql.Composable:
        """The row's queue as text (NULL stays NULL); a constant where none is mapped."""
        mapped = self.fields.get("queue")
        return sql.SQL("'default'::text") if mapped is None else sql.SQL("{}::text").format(mapped.value)

    def in_policy(self, policy: QueuePolicy) -> sql.Composable:
        """Whether the policy governs the row: its own queue, or for the default one all that no other governs."""
        if policy.queue is not None:
            return sql.SQL("{} = {}").format(self.queue(), literal(policy.queue))
        named = [literal(other.queue) for other in self.policies if other.queue is not None]
        if not named:
            return sql.SQL("true")
        return sql.SQL("({0} IS NULL OR {0} NOT IN ({1}))").format(self.queue(), sql.SQL(", ").join(named))

    def key_columns(self) -> list[sql.Composable]:
        """The columns that address a row: the primary key, else tableoid and ctid (valid under the row's lock)."""
        if self.key:
            return [column(part.name) for part in self.key]
        return [sql.SQL("j.tableoid"), sql.SQL("j.ctid")]

    def key_types(self) -> list[str]:
        """The types of `key_columns()`."""
        return [part.type_name for part in self.key] if self.key else ["oid", "tid"]

    def key_text(self, other: str | None = None) -> sql.Composable:
        """The row's address as one text: the key's own text, or a row literal of several columns.

        Of `j`, or of `other`'s row whose key stands in its columns pgq_ops_key_1, pgq_ops_key_2, ...
        """
        columns = self.key_columns() if other is None else self.key_in(other)
        if len(columns) == 1:
            return sql.SQL("{}::text").format(columns[0])
        return sql.SQL("ROW({})::text").format(sql.SQL(", ").join(columns))

    def key_in(self, other: str) -> list[sql.Composable]:
        """The columns of `other` in which a row's key stands."""
        numbers = range(1, len(self.key_columns()) + 1)
        return [sql.SQL("{}.{}").format(identifier(other), identifier(f"pgq_ops_key_{number}")) for number in numbers]

    def shown_id(self) -> sql.Composable:
        """The mapped `id` as text, for people; the row's address where none is mapped."""
        mapped = self.fields.get("id")
        return self.key_text() if mapped is None else sql.SQL("{}::text").format(mapped.value)

    def same_row(self, other: str) -> sql.Composable:
        """The condition that `j` is the row whose key stands in `other`'s columns pgq_ops_key_1, pgq_ops_key_2, ..."""
        pairs = zip(self.key_columns(), self.key_in(other), strict=True)
        return all_of([sql.SQL("{} = {}").format(part, taken) for part, taken in pairs])
