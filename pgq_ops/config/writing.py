"""Parts of a configuration file as text to paste."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.config.job_table import JobTableConfig

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SHORT = 0xFFFF


def toml_text(text: str) -> str:
    """A text in TOML's double quotes, whatever is in it: what no terminal shows as an escape."""
    return "".join(
        char if char.isprintable() else f"\\U{ord(char):08x}" if ord(char) > _SHORT else f"\\u{ord(char):04x}"
        for char in json.dumps(text, ensure_ascii=False)
    )


def toml_key(name: str) -> str:
    """A key, in quotes where it needs them."""
    return name if _BARE.fullmatch(name) else toml_text(name)


def job_table_section(name: str, table: JobTableConfig) -> str:
    """The section that describes a job table by its preset, without a line break at its end."""
    lines = [f"[job_tables.{toml_key(name)}]", f"table = {toml_text(table.table)}"]
    return "\n".join([*lines, *([] if table.preset is None else [f"preset = {toml_text(table.preset)}"])])
