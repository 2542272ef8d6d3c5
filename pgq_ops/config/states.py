"""Which values of the state column, or which predicate, mean which state."""

from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from pgq_ops.config.expression import Expression
from pgq_ops.config.section import Section, refusal


class StateValues(Section):
    """A state as the values that the state column has in it; the first is the one that is written.

    In TOML a list of text, whole numbers, or true and false.
    """

    shorthand: ClassVar[frozenset[type]] = frozenset({list})

    values: Annotated[tuple[str | int | bool, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: object) -> object:
        return {"values": value} if isinstance(value, list | tuple) else value


def _expression(value: object) -> object:
    if isinstance(value, dict) and set(value) == {"sql"}:
        return value["sql"]
    return value


class StatePredicate(Section):
    """A state as an SQL predicate, for tables where no single column tells it.

    `set` holds, by column, the SQL expression that brings a row into this state. Without it the state can be
    read and not written, so such a table cannot be reaped.
    """

    shorthand: ClassVar[frozenset[type]] = frozenset({dict})

    where: Expression
    set: dict[str, Annotated[Expression, BeforeValidator(_expression)]] = Field(default_factory=dict)


def _kind(value: object) -> str:
    return "predicate" if isinstance(value, dict | StatePredicate) else "values"


def _needs_list(value: object) -> object:
    if isinstance(value, str | int):
        written = f'"{value}"' if isinstance(value, str) else str(value).lower()
        raise refusal("must be a list", f"write [{written}]")
    if not isinstance(value, list | tuple | dict | Section):
        raise refusal('must be a list of values, or { where = "predicate" }')
    return value


State = Annotated[
    Annotated[StateValues, Tag("values")] | Annotated[StatePredicate, Tag("predicate")],
    Discriminator(_kind),
    BeforeValidator(_needs_list),
]


class States(Section):
    """The states of a job, None where the table has none such. A value nobody mapped is `unknown`.

    An empty list is None too: so a file switches off a state of its preset.
    """

    pending: State | None = None
    running: State | None = None
    done: State | None = None
    dead: State | None = None
    blocked: State | None = None
    cancelled: State | None = None

    def mapped(self) -> dict[str, StateValues | StatePredicate]:
        """Return the mapped states by name, in the order above."""
        states = ((name, getattr(self, name)) for name in type(self).model_fields)
        return {name: state for name, state in states if state is not None}

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {name: None if state == [] else state for name, state in value.items()}

    @model_validator(mode="after")
    def _check(self) -> Self:
        seen: dict[tuple[type, object], str] = {}
        for name, state in self.mapped().items():
            for value in state.values if isinstance(state, StateValues) else ():
                other = seen.setdefault((type(value), value), name)
                if other != name:
                    raise refusal(f"{value!r} is in both {other} and {name}", "a value can mean one state only")
        return self
