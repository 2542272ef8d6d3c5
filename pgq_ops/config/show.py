"""The configuration in effect, for people and for JSON, with its secrets masked."""

from __future__ import annotations

from datetime import timedelta
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import SecretStr

from pgq_ops.config.columns import Column
from pgq_ops.config.dsn import mask_dsn
from pgq_ops.config.job_table import OrderTerm
from pgq_ops.config.leaves import leaves
from pgq_ops.config.maintenance import Archive
from pgq_ops.config.schema import dotted
from pgq_ops.config.states import StatePredicate, StateValues
from pgq_ops.config.transactions import EndOnly
from pgq_ops.masking import MASK, without_uri_passwords

if TYPE_CHECKING:
    from pgq_ops.config.load import LoadedConfig

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))


class Row(NamedTuple):
    """One setting: its dotted key, its value as the file would hold it (None: off), and its origin."""

    key: str
    value: object
    origin: str


def rows(loaded: LoadedConfig) -> list[Row]:
    """Return every setting in the order of the model; a queue's only where they differ from its table's."""
    found = ((dotted(path), value) for path, value in leaves(loaded.config))
    return [Row(key, _shown(value), loaded.origins[key]) for key, value in found]


def document(loaded: LoadedConfig) -> dict[str, Any]:
    """Return the settings as nested plain dicts, in the shape of the file."""
    nested: dict[str, Any] = {}
    for path, value in leaves(loaded.config):
        node = nested
        for key in path[:-1]:
            node = node.setdefault(key, {})
        node[path[-1]] = _shown(value)
    return nested


def _shown(value: object) -> object:
    """A value as the file would hold it, without passwords, also where nobody would look for one."""
    return _without_passwords(plain(value))


def _without_passwords(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_passwords(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_without_passwords(part) for part in value]
    return without_uri_passwords(value) if isinstance(value, str) else value


@singledispatch
def plain(value: object) -> object:
    """Return a value of the model as the file would hold it. Secrets are masked."""
    return value


@plain.register
def _(value: SecretStr) -> object:
    return mask_dsn(value.get_secret_value())


@plain.register
def _(value: timedelta) -> object:
    return _exact(value)


@plain.register
def _(value: tuple) -> object:  # type: ignore[type-arg]  # registered by its class
    return [plain(item) for item in value]


@plain.register
def _(value: Column) -> object:
    return value.name if value.name and not value.unit else _given(column=value.name, sql=value.sql, unit=value.unit)


@plain.register
def _(value: OrderTerm) -> object:
    column = value.column
    written = '"' + column.replace('"', '""') + '"' if {" ", '"'} & set(column) else column
    return f"{written} desc" if value.descending else written


@plain.register
def _(value: StateValues) -> object:
    return list(value.values)


@plain.register
def _(value: StatePredicate) -> object:
    return _given(where=value.where, set=dict(value.set))


@plain.register
def _(value: Archive) -> object:
    return _given(directory=value.directory, command=_program(value.command)) or "none"


@plain.register
def _(value: EndOnly) -> object:
    return _given(application_name=value.application_name, user=value.user)


def _given(**keys: object) -> dict[str, object]:
    return {key: value for key, value in keys.items() if value}


def _program(command: str | None) -> str | None:
    """The program alone: any of its arguments may be a secret, and so may what is set before it."""
    if command is None or not command.strip():
        return command
    first, *arguments = command.split(maxsplit=1)
    return MASK if "=" in first else " ".join([first, *([MASK] if arguments else [])])


def _exact(value: timedelta) -> str:
    """Write a duration so that reading it gives the same again."""
    left = value // timedelta(milliseconds=1)
    parts = []
    for unit, size in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
