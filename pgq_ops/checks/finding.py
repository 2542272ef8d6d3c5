"""Something that is wrong: what, how bad, what shows it, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class Severity(StrEnum):
    """`critical`: jobs are stuck or lost, or claims are slow, now. `warning`: it will come to that. Or `info`."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of one job table.

    `summary` is one sentence; `evidence` holds plain JSON values; `remedy` is text to paste, complete and
    quoted for SQL or the shell, never to be wrapped or cut.
    """

    id: str
    severity: Severity
    summary: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    remedy: str = ""

    def as_json(self) -> dict[str, Any]:
        """The finding as `--json` shows it."""
        return {
            "id": self.id,
            "severity": str(self.severity),
            "summary": self.summary,
            "evidence": dict(self.evidence),
            "remedy": self.remedy,
        }
