"""Settings from several sources, merged key by key; each keeps the name of the source it came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pgq_ops.config.model import Config
from pgq_ops.config.schema import KeyPath, child, is_one_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Setting:
    """One value that a source gives. With `opens_section` it only says that the section is there."""

    path: KeyPath
    value: object
    origin: str
    opens_section: bool = False


def settings_of(
    raw: Mapping[str, object], origin: str, path: KeyPath = (), schema: object = Config
) -> Iterator[Setting]:
    """Yield the settings of a parsed document; `path` and `schema` say which part of the whole it is."""
    for key, value in raw.items():
        here, inner = (*path, key), child(schema, key)
        if isinstance(value, dict) and inner is not None and not is_one_value(inner):
            yield Setting(here, {}, origin, opens_section=True)
            yield from settings_of(value, origin, here, inner)
        else:
            yield Setting(here, value, origin)


@dataclass(slots=True)
class Merged:
    """What the sources say together, not yet validated."""

    raw: dict[str, Any] = field(default_factory=dict)
    origins: dict[KeyPath, str] = field(default_factory=dict)

    def origin(self, path: KeyPath) -> str:
        """Return the origin of the value at `path`, else of the section around it, else ""."""
        for end in range(len(path), 0, -1):
            if origin := self.origins.get(path[:end]):
                return origin
        return ""

    def where(self, path: KeyPath) -> str:
        """Return the file, variable or flag that `path` comes from, as a problem names it."""
        origin = self.origin(path)
        return origin if origin.startswith("preset") else origin.partition(" ")[2]

    def value(self, path: KeyPath) -> object:
        """Return the value at `path`, None where there is none."""
        node: object = self.raw
        for key in path:
            node = node.get(key) if isinstance(node, dict) else None
        return node

    def add(self, setting: Setting) -> None:
        """Put a setting over what is there."""
        *parents, last = setting.path
        node = self.raw
        for key in parents:
            inner = node.setdefault(key, {})
            if not isinstance(inner, dict):
                return  # an earlier source has no table here; validation will say so
            node = inner
        before = node.get(last)
        if setting.opens_section and isinstance(before, dict):
            return
        if isinstance(before, dict):
            depth = len(setting.path)
            self.origins = {path: origin for path, origin in self.origins.items() if path[:depth] != setting.path}
        node[last] = {} if setting.opens_section else setting.value
        self.origins[setting.path] = setting.origin


def merge(settings: Iterable[Setting]) -> Merged:
    """Merge settings, the last one of a path wins."""
    merged = Merged()
    for setting in settings:
        merged.add(setting)
    return merged
