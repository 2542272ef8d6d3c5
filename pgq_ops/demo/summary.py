"""What a run showed."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pgq_ops.demo.schedule import MAX_ATTEMPTS
from pgq_ops.demo.verdict import CHECKS, JUDGED_AT_ANY_TIME, Check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.demo.evidence import Evidence


@dataclass(frozen=True, slots=True)
class RecoveryTimes:
    """Seconds from the end of a lease until its job was pending or dead."""

    median: float
    p95: float
    max: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> RecoveryTimes | None:
        """None where nothing was recovered."""
        if not seconds:
            return None
        if len(seconds) == 1:
            return cls(seconds[0], seconds[0], seconds[0])
        p95 = statistics.quantiles(seconds, n=20, method="inclusive")[-1]
        return cls(statistics.median(seconds), p95, max(seconds))


@dataclass(frozen=True, slots=True)
class Summary:
    """The evidence of a run, judged. `interrupted`: it was cut short."""

    server_version: str
    seconds: float
    workers: int
    agent: bool
    interrupted: bool
    evidence: Evidence

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each claim with its verdict."""
        return tuple(check(self.evidence, MAX_ATTEMPTS) for check in CHECKS)

    @property
    def holds(self) -> bool:
        """Whether the run was finished and all claims hold."""
        return not self.interrupted and all(check.holds for check in self.checks)

    @property
    def recovery(self) -> RecoveryTimes | None:
        """How long the stranded jobs waited."""
        return RecoveryTimes.of([each.seconds for each in self.evidence.strandings if each.seconds is not None])

    def is_judged(self, check: Check) -> bool:
        """Whether the run went far enough for this claim."""
        return not self.interrupted or check.name in JUDGED_AT_ANY_TIME

    def as_json(self) -> dict[str, Any]:
        """The summary as one document."""
        found, stranded, times = self.evidence.outcomes, self.evidence.strandings, self.recovery
        return {
            "holds": self.holds,
            "interrupted": self.interrupted,
            "server_version": self.server_version,
            "elapsed_seconds": round(self.seconds, 3),
            "workers": self.workers,
            "agent": self.agent,
            "checks": [
                {"name": check.name, "holds": check.holds if self.is_judged(check) else None, "text": check.text}
                for check in self.checks
            ],
            "jobs": {
                "enqueued": found.enqueued,
                "done": found.done,
                "dead": found.dead,
                "open": found.open,
                "missing": found.missing,
            },
            "trouble": {name: self.evidence.events.get(name, 0) for name in ("killed", "hung", "poisoned")},
            "stranded": {
                "total": len(stranded),
                "recovered": sum(each.taken_back is not None for each in stranded),
                "requeued": sum(each.taken_back == "requeued" for each in stranded),
                "buried": sum(each.taken_back == "buried" for each in stranded),
            },
            "late_completions_refused": self.evidence.events.get("refused", 0),
            "poison": {
                "jobs": sum(each.poison for each in self.evidence.burials),
                "dead": sum(each.poison and each.status == "failed" for each in self.evidence.burials),
                "max_attempts": MAX_ATTEMPTS,
            },
            "recovery_seconds": {"median": times.median, "p95": times.p95, "max": times.max} if times else None,
        }
