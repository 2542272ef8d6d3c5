"""A command's result on stdout."""

from __future__ import annotations

import json
from typing import Any


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document, indented; raises ValueError for a number that JSON does not have."""
    print_line(json.dumps(document, indent=2, allow_nan=False))


def print_line(text: str = "") -> None:
    """Print one line, neither wrapped nor cut."""
    print(text)  # noqa: T201 (the command's result)
