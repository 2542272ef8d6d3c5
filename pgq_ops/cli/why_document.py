"""The lives of the jobs of one id as JSON: the facts behind the sentences, and the sentences."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pgq_ops.cli.why_life import told
from pgq_ops.cli.why_lock import remedy
from pgq_ops.cli.why_outlook import outlook
from pgq_ops.job_table.queue_labels import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.cli.why_facts import JobFacts
    from pgq_ops.cli.why_report import Report
    from pgq_ops.stats.reap_history import Event


def document(report: Report) -> dict[str, Any]:
    """Plain values; null is what is not mapped, not set or not known (docs/why.md)."""
    return {
        "id": report.id,
        "jobs": [_job(facts) for found in report.tables for facts in found.jobs],
        "forgotten": [
            {"job_table": found.name, "history": _history(found.forgotten)}
            for found in report.tables
            if found.forgotten
        ],
        "job_tables": [
            {"name": found.name, "error": None if found.error is None else str(found.error)} for found in report.tables
        ],
    }


def _job(facts: JobFacts) -> dict[str, Any]:
    life, said = facts.life, told(facts)
    times = {name: moment.at for name, moment in life.times.items()}
    ages = {_age(name): _rounded(moment.seconds_ago) for name, moment in life.times.items()}
    return {
        "job_table": facts.table.name,
        "table": life.table,
        "collected_at": facts.now,
        "id": life.id,
        "key": life.key,
        "state": life.state,
        "state_value": life.state_value,
        "queue": shown(life.queue),
        "kind": life.kind,
        "priority": life.priority,
        "owner": life.owner,
        "attempts": life.attempts,
        "attempt": life.attempt if life.state == "running" else None,
        "max_attempts": life.max_attempts,
        "error": life.error,
        **times,
        **ages,
        "lease": {"condition": life.lease, "overlong": life.overlong, "future": life.future},
        "reaper": _reaper(facts),
        "locked_by": _lock(facts),
        "line": None if facts.line is None else asdict(facts.line),
        "history": None if facts.history is None else _history(facts.history),
        "sentences": [one.plain for one in said],
        "commands": [command for one in said for command in one.commands],
    }


def _age(name: str) -> str:
    """`created_at` is told as `created_seconds`: seconds since then, negative for what is to come."""
    return f"{name.removesuffix('_at')}_seconds"


def _reaper(facts: JobFacts) -> dict[str, Any] | None:
    seen = outlook(facts)
    if seen is None:
        return None
    action = {True: "bury", False: "requeue", None: None}[seen.buries]
    return {
        "reaping": facts.reaper.reaping,
        "obstacle": seen.obstacle,
        "action": action,
        "within_seconds": _rounded(seen.within_seconds),
        "late": seen.late,
        "delay_seconds": None if seen.delay_seconds is None else [_rounded(seconds) for seconds in seen.delay_seconds],
    }


def _lock(facts: JobFacts) -> dict[str, Any] | None:
    lock = facts.lock
    if lock is None:
        return None
    return {
        "pid": lock.pid,
        "application_name": lock.application_name,
        "user": lock.user,
        "state": lock.state,
        "gid": lock.gid,
        "seconds": _rounded(lock.seconds),
        "others": lock.others,
        "remedy": "\n".join(remedy(lock)),
    }


def _history(events: Sequence[Event]) -> list[dict[str, Any]]:
    return [asdict(event) | {"seconds_ago": _rounded(event.seconds_ago)} for event in events]


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
