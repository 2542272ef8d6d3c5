"""A command's result on stdout."""

from __future__ import annotations

import json
import sys
from typing import Any

from pgq_ops.cli.terminal_safe import terminal_safe


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document, indented; raises ValueError for a number that JSON does not have."""
    print_text(json.dumps(document, indent=2, allow_nan=False))


def print_line(text: str = "") -> None:
    """Print one line, neither wrapped nor cut; on a terminal it stays one whatever stands in it."""
    print(terminal_safe(text, sys.stdout, lines=1))  # noqa: T201 (the command's result)


def print_text(text: str) -> None:
    """Print lines of our own making, neither wrapped nor cut."""
    print(terminal_safe(text, sys.stdout))  # noqa: T201 (the command's result)
