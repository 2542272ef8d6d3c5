"""The mappings that come with the package: one file each, in the format of one job table's section."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

_FOLDER = files("pgq_ops") / "presets"


def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, sorted."""
    names = (entry.name for entry in _FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def read_preset(name: str) -> dict[str, Any]:
    """Return a preset as parsed TOML. Raises KeyError for a name that `preset_names` does not list."""
    if name not in preset_names():
        raise KeyError(name)
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
