"""How finished jobs leave a table, and how vacuum keeps up with those that stay."""

from datetime import timedelta
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, PlainValidator, model_validator

from pgq_ops.config.duration import Duration, Interval, PositiveDuration
from pgq_ops.config.section import Section, refusal


class Archive(Section):
    """Where a retired partition is kept: nowhere ("none"), in a folder, or given to a command on stdin."""

    shorthand: ClassVar[frozenset[type]] = frozenset({str})

    directory: Annotated[str, Field(min_length=1)] | None = None
    command: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: object) -> object:
        if value == "none":
            return {}
        if not isinstance(value, dict | Archive):
            raise refusal('must be "none", { directory = "..." } or { command = "..." }')
        return value

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.directory and self.command:
            raise refusal("has both a directory and a command", "choose one")
        return self


class Retention(Section):
    """How long finished jobs are kept, and how partitions are made and retired."""

    enabled: bool = True
    every: Interval = timedelta(minutes=10)
    done_after: Duration | None = None
    dead_after: Duration | None = None
    quarantine: Duration = timedelta(days=7)
    runway: PositiveDuration = timedelta(days=7)
    default_partition: Literal["skip", "brief-lock"] = "skip"
    archive: Archive = Archive()
    take_over: bool = False


_MAX_BUDGET = 10**12  # no table has as many rows


def _read_budget(value: object) -> object:
    if value == "auto" or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MAX_BUDGET):
        return value
    raise refusal(f'must be "auto" or a whole number of rows from 1 to {_MAX_BUDGET}')


class Autovacuum(Section):
    """How the table's storage settings are chosen, and whether the agent runs VACUUM itself."""

    enabled: bool = True
    every: Interval = timedelta(minutes=10)
    mode: Literal["plan", "apply"] = "plan"
    vacuum: Literal["never", "when-needed"] = "never"
    dead_tuple_budget: Annotated[Literal["auto"] | int, PlainValidator(_read_budget)] = "auto"
