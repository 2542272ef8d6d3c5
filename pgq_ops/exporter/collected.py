"""What one collection came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.checks.finding import Finding
    from pgq_ops.checks.look import Look
    from pgq_ops.exporter.runs import ProbeFailure


@dataclass(frozen=True, slots=True)
class Collected:
    """One collection of one job table. `reached`: the database answered.

    `unjudged`: the findings of which nobody knows whether they are there, since a probe that they are judged by failed.
    """

    look: Look
    findings: tuple[Finding, ...]
    failures: tuple[ProbeFailure, ...]
    reached: bool
    unjudged: frozenset[str]
