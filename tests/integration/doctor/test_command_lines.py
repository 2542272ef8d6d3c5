"""How an examination is shown: on a terminal and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.cli.doctor_lines import lines
from pgq_ops.cli.doctor_report import examine
from tests.support.inspection import loaded
from tests.support.jobs import FIELD, FIELD_TABLE, create_field_table

if TYPE_CHECKING:
    from pathlib import Path

    from pgq_ops.cli.doctor_report import Report
    from tests.support.database import Database

EXPIRED = "INSERT INTO jobs (status, lease_until) VALUES ('running', now() - interval '1 h')"


@pytest.fixture
def jobs(database: Database) -> Database:
    create_field_table(database)
    return database


def report_of(database: Database, folder: Path, toml: str = FIELD) -> Report:
    return examine(loaded(folder, toml, database.dsn), ())


def text_of(report: Report, width: int | None = 80, *, everything: bool = False) -> str:
    return "\n".join(line.plain for line in lines(report, width, everything=everything))


def test_the_worst_comes_first_and_what_passed_is_short(jobs: Database, tmp_path: Path) -> None:
    jobs.execute(EXPIRED)
    jobs.execute("CREATE INDEX ON jobs (lease_until)")
    report = report_of(jobs, tmp_path)
    text = text_of(report)
    assert text.index("CRITICAL") < text.index("INFO") < text.index("could not be checked") < text.index("passed: ")
    severities = [str(finding.severity) for finding in report.tables[0].findings]
    assert severities == sorted(severities, key=["critical", "warning", "info"].index)
    counted = [one.verdict.outcome for one in report.tables[0].judged].count("passed")  # type: ignore[arg-type]
    assert f"passed: {counted}" in text
    prose = [line for line in text.splitlines() if not line.startswith(("  ", "20"))]
    assert all(len(line) <= 80 for line in prose)
    assert "  A lease is mapped: lease_expires_at" not in text
    assert "  A lease is mapped: lease_expires_at" in text_of(report, everything=True)


def test_points_that_cannot_be_checked_for_one_reason_share_it(jobs: Database, tmp_path: Path) -> None:
    text = text_of(report_of(jobs, tmp_path), None)
    assert text.count("CREATE EXTENSION pg_stat_statements;") == 1
    assert (
        "  Workers run at Read Committed; One statement selects and marks a job;"
        " A job is completed only under its own claim:"
        " the extension pg_stat_statements is not here\n    CREATE EXTENSION pg_stat_statements;\n"
    ) in text


def test_a_finding_of_the_look_that_a_point_says_more_of_is_told_once(database: Database, tmp_path: Path) -> None:
    database.execute(FIELD_TABLE)
    found = [finding.id for finding in report_of(database, tmp_path).tables[0].findings]
    assert found.count("no-running-index") == 1
    assert "claim-index-unfit" in found
    assert "no-pending-index" not in found
