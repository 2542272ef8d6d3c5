"""A command's result on stdout."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Protocol

from pgq_ops.cli.terminal_safe import terminal_safe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.errors import PgqOpsError


class Report(Protocol):
    """What a command came to."""

    def as_json(self) -> dict[str, Any]:
        """The document of `--json`."""
        ...

    def failure(self) -> PgqOpsError | None:
        """What the command ends with after showing what there is."""
        ...


def print_report(report: Report, lines: Iterable[str], *, as_json: bool) -> None:
    """Print a report as lines or as its document; then raises its failure, if there is one."""
    if as_json:
        print_json(report.as_json())
    else:
        for line in lines:
            print_line(line)
    failure = report.failure()
    if failure is not None:
        raise failure


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document, indented; raises ValueError for a number that JSON does not have."""
    print_text(json.dumps(document, indent=2, allow_nan=False))


def print_line(text: str = "") -> None:
    """Print one line, neither wrapped nor cut; on a terminal it stays one whatever stands in it."""
    print(terminal_safe(text, sys.stdout, lines=1))  # noqa: T201 (the command's result)


def print_text(text: str) -> None:
    """Print lines of our own making, neither wrapped nor cut."""
    print(terminal_safe(text, sys.stdout))  # noqa: T201 (the command's result)
