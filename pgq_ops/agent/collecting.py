"""The probes' round: every job table that this agent leads is collected, and what is wrong with it is told."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops import logs
from pgq_ops.agent.finding_teller import FindingTeller
from pgq_ops.agent.registry import reap_news, upkeep_news
from pgq_ops.db.wording import in_words, tells_of_change
from pgq_ops.exporter.runs import ProbeFailure
from pgq_ops.tasks import reap_tally

if TYPE_CHECKING:
    from collections.abc import Iterable
    from threading import Event

    from pgq_ops.agent.bindings import Bindings
    from pgq_ops.agent.recording import Recorder
    from pgq_ops.agent.task_jobs import TaskJobs
    from pgq_ops.db.session import Session
    from pgq_ops.exporter.collection import Collector
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.leader.leadership import Leadership

# `pgqops_probe_success` shows it all the time; the log says why.
TELL_AGAIN_SECONDS = 3_600.0

log = logs.get("probes")


@dataclass(slots=True)
class Collecting:
    """Collects what is led. `round` belongs to the probes' thread, `leave` to any."""

    session: Session
    collector: Collector
    leadership: Leadership
    bindings: Bindings
    jobs: TaskJobs
    recorder: Recorder
    stopping: Event
    _led_since: dict[str, float] = field(default_factory=dict)
    _teller: FindingTeller = field(default_factory=FindingTeller)
    _failing: dict[tuple[str, str], tuple[str, float]] = field(default_factory=dict)

    def round(self) -> None:
        """Collect each job table led. A follower needs no connection for it, and has none."""
        led = self.leadership.led()
        tables = self.bindings.tables()
        if mine := [table for name, table in tables.items() if name in led]:
            self._tell_failures("", self.collector.collect_database(mine))
        for name, table in tables.items():
            if self.stopping.is_set():
                return
            if name in led:
                try:
                    self._collect(name, table)
                except Exception as error:  # noqa: BLE001 (what is wrong with one table does not stop the others)
                    self._tell_failures(name, [ProbeFailure("collection", error, lost=False)])
        for name in self._led_since.keys() - self.leadership.led():
            self._led_since.pop(name)
        self._teller.keep(self.bindings.names())
        if not led:
            self.session.close()

    def leave(self, names: Iterable[str]) -> None:
        """Export nothing more of these job tables, at once."""
        for name in names:
            self.collector.forget(name)

    def unreachable(self, names: Iterable[str]) -> None:
        """Export that these job tables could not be looked at, and nothing else of them."""
        for name in names:
            self.collector.unreachable(name)

    def _collect(self, name: str, table: JobTable) -> None:
        reaping = self.jobs.is_asked_for("reaper", name)
        since = self._led_since.setdefault(name, time.monotonic())
        collected = self.collector.collect(
            table,
            reaping=reaping,
            reaping_seconds=time.monotonic() - since,
            news=reap_news(self.jobs.result("reaper", name)),
            upkeep=upkeep_news(self.jobs.result("upkeep", name)),
        )
        if reaping:
            reap_tally.declare(self.collector.database, name)
        if not self.leadership.holds(name):  # lost meanwhile: what was just stored is not ours to export
            self.collector.forget(name)
            return
        self._tell_failures(name, collected.failures)
        self._teller.tell(name, collected.findings, collected.unjudged)
        if collected.reached:
            self.recorder.note(table, collected.findings, collected.unjudged)

    def _tell_failures(self, name: str, failures: Iterable[ProbeFailure]) -> None:
        """Log a probe's failure when it is another than the last one, or was told long ago."""
        now = time.monotonic()
        for failure in failures:
            key, text = (name, failure.probe), in_words(failure.error)
            told, at = self._failing.get(key, ("", 0.0))
            if text != told or now - at >= TELL_AGAIN_SECONDS:
                self._failing[key] = text, now
                if name and tells_of_change(failure.error):
                    self.bindings.rebind(name)  # which says what is missing, and the GRANT
                where = {"job_table": name} if name else {}
                log.warning("probe.failed", **where, probe=failure.probe, error=text)
