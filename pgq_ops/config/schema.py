"""Questions about the model that reading and explaining a configuration need: what a path may hold."""

from __future__ import annotations

import re
import types
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, Union, get_args, get_origin

from pydantic import SecretStr

from pgq_ops.config.section import Section

if TYPE_CHECKING:
    from collections.abc import Iterator

KeyPath: TypeAlias = tuple[str, ...]
"""The keys that lead to a value: ("agent", "listen")."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def dotted(path: KeyPath) -> str:
    """Write a path as TOML does, with quotes around what is no bare key."""
    return ".".join(key if _BARE_KEY.fullmatch(key) else '"' + key.replace('"', '\\"') + '"' for key in path)


def alternatives(annotation: object) -> Iterator[object]:
    """Yield the types that `annotation` allows, without None, unions and metadata."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from alternatives(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from alternatives(member)
    elif annotation is not type(None):
        yield annotation


def sections(annotation: object) -> list[type[Section]]:
    """Return the sections among the types that `annotation` allows."""
    return [kind for kind in alternatives(annotation) if isinstance(kind, type) and issubclass(kind, Section)]


def keys(annotation: object) -> list[str]:
    """Return the fixed keys that a value of this type may have."""
    return [key for section in sections(annotation) for key in section.toml_keys()]


def child(annotation: object, key: str) -> object | None:
    """Return the type of what `key` holds, None where there is no such key."""
    for kind in alternatives(annotation):
        if get_origin(kind) is dict:
            return get_args(kind)[1]  # type: ignore[no-any-return]  # a type is an object
    for section in sections(annotation):
        if field := section.toml_keys().get(key):
            return section.model_fields[field].annotation
    return None


def element(annotation: object) -> object | None:
    """Return the type of the items of a list, None for what is no list."""
    found = (get_args(kind)[0] for kind in alternatives(annotation) if get_origin(kind) in (tuple, frozenset))
    return next(found, None)


def names_its_keys(annotation: object) -> bool:
    """Whether the keys are names that the user chose: of job tables, of queues."""
    return any(get_origin(kind) is dict for kind in alternatives(annotation))


def is_one_value(annotation: object) -> bool:
    """Whether sources replace this as a whole, instead of merging its keys."""
    found = sections(annotation)
    return any(section.shorthand for section in found) if found else not names_its_keys(annotation)


def all_paths(annotation: object, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the paths of every key below, with `<name>` where the user chooses it."""
    below = ["<name>"] if names_its_keys(annotation) else keys(annotation)
    for key in below if not is_one_value(annotation) else ():
        yield (*path, key)
        yield from all_paths(child(annotation, key), (*path, key))


def toml_kinds(annotation: object) -> set[type]:
    """Return the Python types, as tomllib makes them, that a value of this type may be written in."""
    kinds: set[type] = set()
    for kind in alternatives(annotation):
        origin = get_origin(kind)
        if origin is Literal:
            kinds |= {type(value) for value in get_args(kind)}
        elif origin in (tuple, frozenset):
            kinds.add(list)
        elif origin is dict:
            kinds.add(dict)
        elif isinstance(kind, type) and issubclass(kind, Section):
            kinds |= {dict, *kind.shorthand}
        elif kind in (str, SecretStr, timedelta):
            kinds.add(str)
        elif isinstance(kind, type):
            kinds.add(kind)
    return kinds | {int} if float in kinds else kinds
