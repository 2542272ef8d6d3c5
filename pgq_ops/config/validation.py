"""From merged settings to the model: whatever pydantic refuses becomes a problem in the user's words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from pgq_ops.config.job_table import JobTableConfig
from pgq_ops.config.model import Config
from pgq_ops.config.schema import KeyPath, all_paths, child, dotted, element, keys
from pgq_ops.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pgq_ops.config.sources import Merged

_EXPECTED = {
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "tuple_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "a table of keys",
    "model_type": "a table of keys",
    "model_attributes_type": "a table of keys",
}
_BOUNDS = {
    "greater_than_equal": ("must be at least", "ge"),
    "less_than_equal": ("must be at most", "le"),
}
_TABLE = len(("job_tables", "name"))
_COMPUTED = ("requested_tasks",)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_SUCH = "there is no such setting"


def validate(merged: Merged) -> tuple[Config | None, list[Problem], set[KeyPath]]:
    """Return the configuration, or None with what is wrong and the paths at which it is."""
    refusals = {**_computed_keys(merged), **_unfit_text(merged)}
    problems = [Problem(dotted(path), what, "", merged.where(path)) for path, what in refusals.items()]
    broken = set(refusals)
    try:
        config = Config.model_validate(merged.raw)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
    else:
        return (None if problems else config), problems, broken
    found: dict[_Place, list[Any]] = {}
    for one in errors:
        place = _place(one["loc"], merged.raw)
        if place.path not in refusals:
            found.setdefault(place, []).append(one)
    for place, same in found.items():
        broken.add(place.path)
        what, hint = _explain(place, same)
        problems.append(Problem(dotted(place.path) + place.inside, what, hint, merged.where(place.path)))
    return None, problems, broken


@dataclass(frozen=True)
class _Place:
    """Where an error is: the keys as they stand in the file, and what follows a place in a list ("[2].user")."""

    path: KeyPath
    inside: str = ""
    key: str = ""
    siblings: tuple[str, ...] = ()
    value: str = ""


def readable_tables(merged: Merged, broken: set[KeyPath]) -> Iterator[tuple[str, JobTableConfig, frozenset[str]]]:
    """Yield each job table without its broken sections, and their names, so that the rest can be checked too."""
    tables = merged.raw.get("job_tables")
    for name, raw in tables.items() if isinstance(tables, dict) else ():
        sections = frozenset(path[2] for path in broken if path[:2] == ("job_tables", name) and len(path) > _TABLE)
        if isinstance(raw, dict):
            # A section whose name is mistyped is missing under its right name.
            sections |= {guess for key in sections for guess in get_close_matches(key, JobTableConfig.toml_keys())}
            whole = {key: value for key, value in raw.items() if key not in sections}
            stand_in = {"table": name} if "table" in sections else {}
            yield name, JobTableConfig.model_validate({**stand_in, **whole}), sections


def _computed_keys(merged: Merged) -> dict[KeyPath, str]:
    return {path: _NO_SUCH for path in merged.origins if path[:1] == ("job_tables",) and path[2:] == _COMPUTED}


def _unfit_text(merged: Merged) -> dict[KeyPath, str]:
    """Text that PostgreSQL's text type cannot hold; bytes of the environment that are no UTF-8 come as surrogates."""
    found = {path: "".join((*path, *_texts(merged.value(path)))) for path in merged.origins}
    surrogates = {path: "holds bytes that are no UTF-8" for path, text in found.items() if _SURROGATE.search(text)}
    nul = {
        path: "holds a NUL character, which PostgreSQL's text cannot" for path, text in found.items() if "\0" in text
    }
    return surrogates | nul


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _place(loc: tuple[int | str, ...], raw: object) -> _Place:
    """Find an error's place. Its `loc` also names branches of unions and the fields that a shorthand stands for."""
    path: KeyPath = ()
    inside = ""
    schema: object = Config
    siblings: tuple[str, ...] = ()
    last: str = ""
    for step, key in enumerate(loc):
        if isinstance(raw, list) and isinstance(key, int):
            inside, raw, schema = f"{inside}[{key}]", raw[key], element(schema)
        elif isinstance(raw, dict) and isinstance(key, str) and (key in raw or step == len(loc) - 1):
            siblings, last = tuple(keys(schema)), key
            path, inside = (path, f"{inside}.{key}") if inside else ((*path, key), "")
            raw, schema = raw.get(key), child(schema, key)
    return _Place(path, inside, last, siblings, raw if isinstance(raw, str) else "")


def _explain(place: _Place, errors: list[Any]) -> tuple[str, str]:
    kind, context = errors[0]["type"], errors[0].get("ctx", {})
    what, hint = errors[0]["msg"], ""
    if kind == "extra_forbidden":
        what, hint = _NO_SUCH, _right_key(place)
    elif kind == "missing":
        what = "is needed"
    elif kind == "refusal":
        what, hint = context["what"], context["hint"]
    elif kind == "literal_error":
        allowed = re.findall(r"'([^']*)'", context["expected"])
        what, hint = "must be " + " or ".join(f'"{name}"' for name in allowed), did_you_mean(place.value, allowed)
    elif kind in _EXPECTED:
        expected = dict.fromkeys(_EXPECTED.get(error["type"], "something else") for error in errors)
        what = f"must be {' or '.join(expected)}"
    elif kind in _BOUNDS:
        text, bound = _BOUNDS[kind]
        what = f"{text} {context[bound]:.10g}"
    elif kind in ("too_short", "string_too_short"):
        what = "is empty"
    return what, hint


def _right_key(place: _Place) -> str:
    if guess := did_you_mean(place.key, place.siblings):
        return guess
    elsewhere = [dotted(path).replace('"', "") for path in all_paths(Config) if path[-1] == place.key]
    return f"did you mean {' or '.join(elsewhere)}?" if elsewhere else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the hint that names the known word most like `word`, "" where none is like it."""
    guess = get_close_matches(word.lower(), list(known), n=1)
    return f'did you mean "{guess[0]}"?' if guess else ""
