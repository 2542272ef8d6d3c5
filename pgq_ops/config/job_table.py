"""One job table as the user describes it."""

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from pgq_ops.config.columns import Columns
from pgq_ops.config.maintenance import Autovacuum, Retention
from pgq_ops.config.policy import Lease, QueueOverride, QueuePolicy, Reaper, Slo
from pgq_ops.config.section import Section, refusal
from pgq_ops.config.states import States

TASK_SECTIONS = ("reaper", "retention", "autovacuum")
"""The sections by which a task is asked for."""


class OrderTerm(Section):
    """One term of the workers' ORDER BY; in TOML "column", "column asc" or "column desc"."""

    shorthand: ClassVar[frozenset[type]] = frozenset({str})

    column: Annotated[str, Field(min_length=1)]
    descending: bool = False

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        column, _, direction = value.strip().rpartition(" ")
        if not column or direction.lower() not in ("asc", "desc"):
            column, direction = value.strip(), "asc"
        column = column.strip()
        if column.lower().endswith((" nulls first", " nulls last", " nulls")):
            raise refusal("NULLS FIRST and NULLS LAST are not supported", 'write "column" or "column desc"')
        if len(column) > 1 and column.startswith('"') and column.endswith('"'):
            column = column[1:-1].replace('""', '"')
        return {"column": column, "descending": direction.lower() == "desc"}


class Claim(Section):
    """How the workers find their next job. An empty order stands for the mapped available_at, then id."""

    order: Annotated[tuple[OrderTerm, ...], Field(strict=False)] = ()


class JobTableConfig(Section):
    """One job table. `table` is what the user wrote: name, schema.name or SQL-quoted."""

    computed: ClassVar[frozenset[str]] = frozenset({"requested_tasks"})

    table: Annotated[str, Field(min_length=1)]
    preset: str | None = None
    columns: Columns = Columns()
    states: States = States()
    claim: Claim = Claim()
    lease: Lease = Lease()
    reaper: Reaper = Reaper()
    retention: Retention | None = None
    autovacuum: Autovacuum | None = None
    slo: Slo = Slo()
    queues: dict[str, QueueOverride] = Field(default_factory=dict)
    requested_tasks: frozenset[str] = frozenset()
    """The task sections that the file or the environment holds (a preset does not count), and that are not
    switched off. Worked out by the loader; no key of the file."""

    def policies(self) -> tuple[QueuePolicy, ...]:
        """Return the policy of every queue without its own first, then the others by name, each complete."""
        default = QueuePolicy(None, self.lease, self.reaper, self.slo)
        return (default, *(self._policy(queue, self.queues[queue]) for queue in sorted(self.queues)))

    def _policy(self, queue: str, override: QueueOverride) -> QueuePolicy:
        return QueuePolicy(
            queue,
            self.lease.overlaid(override.lease),
            self.reaper.overlaid(override.reaper),
            self.slo.overlaid(override.slo),
        )

    def claim_order(self) -> tuple[OrderTerm, ...]:
        """Return the order in which jobs are claimed: the configured one, else available_at, then id."""
        if self.claim.order:
            return self.claim.order
        columns = (self.columns.available_at, self.columns.id)
        return tuple(OrderTerm(column=column.name) for column in columns if column and column.name)
