"""Settings from environment variables: PGQ_OPS_DSN, and by path, as in PGQ_OPS_AGENT__LISTEN."""

from __future__ import annotations

import re
import tomllib
from difflib import get_close_matches
from typing import TYPE_CHECKING

from pgq_ops.config.model import Config
from pgq_ops.config.schema import KeyPath, child, dotted, is_one_value, keys, names_its_keys, toml_kinds
from pgq_ops.config.sources import Setting, settings_of
from pgq_ops.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PREFIX = "PGQ_OPS_"
DSN = "PGQ_OPS_DSN"
_SEPARATOR = "__"


def read_environment(
    environment: Mapping[str, str], known: Mapping[str, object]
) -> tuple[list[Setting], list[Problem]]:
    """Return the settings that variables hold, and what is wrong with the others.

    `known` is the file's content: job tables and queues are looked up in it without regard to case, as names
    of variables can hold neither small letters nor hyphens by custom. An empty variable counts as not set.
    Names without `__` other than PGQ_OPS_DSN are left alone: Kubernetes makes such ones for a service.
    """
    settings: list[Setting] = []
    problems: list[Problem] = []
    given = {name: text for name, text in sorted(environment.items()) if text and name.upper().startswith(PREFIX)}
    new_tables = _tables_given(given)
    for name, text in given.items():
        if name.upper() == DSN:
            settings.append(Setting(("database", "dsn"), text, f"environment {name}"))
        elif _SEPARATOR in name[len(PREFIX) :]:
            found = _resolve(name, known, new_tables)
            if isinstance(found, Problem):
                problems.append(found)
            else:
                settings.extend(_settings(*found, text, f"environment {name}"))
    return settings, problems


def read_text(text: str, schema: object) -> object:
    """Read a value as TOML where the setting is no text; what then has the wrong type is left to validation."""
    kinds = toml_kinds(schema)
    if kinds == {str}:
        return text
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    value: object = parsed["value"] if set(parsed) == {"value"} else text
    if str in kinds and (type(value) not in kinds - {str} or value == {}):  # "{}" may be the name of a column
        return text
    return value


def _settings(path: KeyPath, schema: object, text: str, origin: str) -> Iterator[Setting]:
    value = read_text(text, schema)
    if isinstance(value, dict) and not is_one_value(schema):
        yield Setting(path, {}, origin, opens_section=True)
        yield from settings_of(value, origin, path, schema)
    else:
        yield Setting(path, value, origin)


def _tables_given(names: Mapping[str, str]) -> list[str]:
    """Return the job tables that the environment alone may describe: those it names the table of."""
    found = (re.fullmatch(r"PGQ_OPS_JOB_TABLES__(.+)__TABLE", name, re.IGNORECASE) for name in names)
    return [match[1].lower() for match in found if match]


def _resolve(name: str, known: Mapping[str, object], new_tables: list[str]) -> tuple[KeyPath, object] | Problem:
    path: KeyPath = ()
    schema: object = Config
    node: object = known
    segments = name[len(PREFIX) :].lower().split(_SEPARATOR)
    for step, segment in enumerate(segments, start=1):
        if path and is_one_value(schema):
            hint = f"write {_variable(path)} = '{{ {segment} = \"...\" }}'" if keys(schema) else ""
            return Problem(dotted(path), "is one value, and has no keys of its own here", hint, name)
        if names_its_keys(schema):
            names = list(node) if isinstance(node, dict) else []
            if len(path) == 1:
                names += [table for table in new_tables if table not in map(_plain, names)]
        else:
            names = keys(schema)
        matches = [key for key in names if _plain(key) == segment]
        if len(matches) != 1:
            return _no_match(name, (*path, *segments[step - 1 :]), len(path), names, matches)
        path = (*path, matches[0])
        schema = child(schema, matches[0])
        node = node.get(matches[0]) if isinstance(node, dict) else None
    return path, schema


def _no_match(name: str, path: KeyPath, at: int, names: list[str], matches: list[str]) -> Problem:
    if matches:
        both = " and ".join(f'"{match}"' for match in matches)
        return Problem(dotted(path), f"{path[at]} could be {both}", "set it in the file", name)
    guesses = get_close_matches(path[at], [_plain(key) for key in names], n=1)
    hint = f"did you mean {_variable((*path[:at], guesses[0], *path[at + 1 :]))}?" if guesses else ""
    return Problem(dotted(path), "there is no such setting", hint, name)


def _plain(key: str) -> str:
    return re.sub(r"\W", "_", key).lower()


def _variable(path: KeyPath) -> str:
    return PREFIX + _SEPARATOR.join(_plain(key) for key in path).upper()
