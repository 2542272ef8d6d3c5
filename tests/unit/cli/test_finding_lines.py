"""A finding on the screen: what to run, and once what is said of several job tables alike."""

from __future__ import annotations

from dataclasses import replace

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.cli.inspection.finding_lines import FindingLines

HELD = Finding("horizon-held", Severity.WARNING, "session 7 holds", {"holding": 1}, "# in a shell:\npgq-ops end 7")


def told(lines: FindingLines, table: str, finding: Finding) -> list[str]:
    return [line.plain for line in lines.of(table, finding)]


def test_what_is_said_of_several_job_tables_alike_is_said_once() -> None:
    lines = FindingLines(80)
    assert told(lines, "mails", HELD) == ["WARNING   session 7 holds", "  # in a shell:", "  pgq-ops end 7"]
    assert told(lines, "films", HELD) == ["WARNING   horizon-held: as told of mails"]
    assert told(lines, "orders", HELD) == ["WARNING   horizon-held: as told of mails"]


def test_what_differs_in_anything_is_another_finding() -> None:
    lines = FindingLines(80)
    told(lines, "mails", HELD)
    for other in (
        replace(HELD, evidence={"holding": 2}),
        replace(HELD, remedy="pgq-ops end 8"),
        replace(HELD, severity=Severity.CRITICAL),
    ):
        assert "session 7 holds" in told(lines, "films", other)[0]
