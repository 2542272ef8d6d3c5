"""The findings of the past as the JSON document; what is not known is null."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pgq_ops.stats.finding_sayings import said_first

if TYPE_CHECKING:
    from pgq_ops.cli.findings_report import Report, TableHistory
    from pgq_ops.stats.finding_history import PastFinding
    from pgq_ops.stats.finding_sayings import Standing
    from pgq_ops.stats.finding_turns import Turn


def document(report: Report) -> dict[str, Any]:
    """The whole document: plain values, durations as numbers in seconds, times as ISO 8601 in UTC.

    `at` is null where all since `since` was asked for: then a finding tells first what it said longest at its worst.
    `watched` says whether anybody looked at that moment, or when.
    """
    return {
        "read_at": _iso(report.now),
        "at": _iso(report.at),
        "since": _iso(report.since) if report.at is None else None,
        "complete": report.complete,
        "job_tables": [_table(report, table) for table in report.tables],
    }


def _table(report: Report, table: TableHistory) -> dict[str, Any]:
    if report.at is not None:
        watched: Any = report.is_watched_at(table, report.at)
    else:
        stretches = [pair for pair in report.watched(table) if pair[1] >= report.since]
        watched = [{"from": _iso(began), "until": _iso(ended)} for began, ended in stretches]
    findings = [_finding(report, table, one) for one in table.findings]
    return {"name": table.name, "watched": watched, "findings": findings}


def _finding(report: Report, table: TableHistory, one: PastFinding) -> dict[str, Any]:
    stood = report.stood(table, one)
    said = said_first(one, stood)[0] if report.at is None else one.at(report.at)
    return {
        "id": one.id,
        **_turn(said),
        "worst_severity": one.worst_severity,
        "opened_at": _iso(one.opened_at),
        "closed_at": _iso(one.closed_at),
        "last_seen_at": _iso(one.last_seen_at),
        "open": report.is_open(one),
        "lasted_seconds": round(report.lasted(one), 3),
        "there_at_least_seconds": round(report.there_at_least(one), 3),
        "returns": one.returns,
        "mode": one.mode,
        "turns": [_standing(here) for here in stood],
    }


def _standing(here: Standing) -> dict[str, Any]:
    stood = {"stood_seconds": round(here.seconds, 3), "watched_seconds": round(here.watched_seconds, 3)}
    return {"at": _iso(here.turn.at), **stood, **_turn(here.turn)}


def _turn(turn: Turn) -> dict[str, Any]:
    said = {"severity": turn.severity, "summary": turn.summary}
    return {**said, "evidence": dict(turn.evidence), "remedy": turn.remedy}


def _iso(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
