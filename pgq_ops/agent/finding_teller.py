"""Findings in the agent's log: a line when one opens, gets worse or better, names somebody else, and is gone."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops import logs
from pgq_ops.agent.finding_news import names_another, names_the_unknown
from pgq_ops.agent.recording import MANY_TURNS, RARE_TURN_SECONDS, TURN_SECONDS
from pgq_ops.checks.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from pgq_ops.checks.finding import Finding

log = logs.get("probes")

_LOUDNESS = {Severity.CRITICAL: log.error, Severity.WARNING: log.warning, Severity.INFO: log.info}


@dataclass(frozen=True, slots=True)
class _Told:
    """A finding as it was told last, when (monotonic seconds), and how many times."""

    finding: Finding
    at: float
    times: int = 1


@dataclass(slots=True)
class FindingTeller:
    """Remembers what is open in each job table, and what was said of it; `clock()` is monotonic seconds."""

    clock: Callable[[], float] = time.monotonic
    _open: dict[str, dict[str, _Told]] = field(default_factory=dict)

    def tell(self, name: str, findings: Iterable[Finding], unjudged: Collection[str]) -> None:
        """Log what is wrong since now, and what no longer is, but for what could not be judged."""
        before, now = self._open.get(name, {}), {finding.id: finding for finding in findings}
        gone = before.keys() - now.keys() - set(unjudged)
        told = {key: self._tell(name, before.get(key), finding) for key, finding in now.items()}
        for key in sorted(gone):
            log.info("finding.closed", job_table=name, finding=key)
        self._open[name] = {key: one for key, one in (before | told).items() if key not in gone}

    def keep(self, names: Collection[str]) -> None:
        """Forget all job tables but these."""
        for name in self._open.keys() - set(names):
            del self._open[name]

    def _tell(self, name: str, told: _Told | None, finding: Finding) -> _Told:
        now = self.clock()
        if told is None or told.finding.severity != finding.severity:
            event = "finding.opened"
        elif self._has_turned(told, finding, now):
            event = "finding.changed"
        else:
            return told
        _LOUDNESS[finding.severity](
            event, job_table=name, finding=finding.id, severity=finding.severity, summary=finding.summary
        )
        return _Told(finding, now, 1 if told is None else told.times + 1)

    def _has_turned(self, told: _Told, finding: Finding, now: float) -> bool:
        """Whether it names somebody else: at once where nobody was known, else as often as the recorder writes."""
        before, after = told.finding.evidence, finding.evidence
        wait = TURN_SECONDS if told.times < MANY_TURNS else RARE_TURN_SECONDS
        return names_another(before, after) and (names_the_unknown(before, after) or now - told.at >= wait)
