"""Findings as lines of a terminal; one that is said of several job tables alike is said once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.text import Text

from pgq_ops.checks.finding import Severity
from pgq_ops.cli.inspection.lines import printable, prose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.finding import Finding

STYLES = {Severity.CRITICAL: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
_LABEL_WIDTH = 10


class FindingLines:
    """The findings of one screen. What concerns the whole database is found with each of its job tables."""

    def __init__(self, width: int | None) -> None:
        self._width = width
        self._told: dict[str, str] = {}

    def of(self, table: str, finding: Finding) -> Iterator[Text]:
        """What it says and its remedy, at the first table; after that where it is told."""
        whole = json.dumps(finding.as_json(), sort_keys=True, default=str)
        first = self._told.setdefault(whole, table)
        label = Text(str(finding.severity).upper(), STYLES[finding.severity])
        if first != table:
            yield from prose(f"{finding.id}: as told of {first}", self._width, indent=_LABEL_WIDTH, first=label)
            return
        yield from prose(finding.summary, self._width, indent=_LABEL_WIDTH, first=label)
        for line in finding.remedy.splitlines():
            yield Text(f"  {printable(line)}", "" if line.startswith(("#", "--")) else "bold")
