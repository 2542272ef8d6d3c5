"""What the agent's log says of a finding that stays open: whom it names now, and no more than that."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pgq_ops.agent import finding_teller
from pgq_ops.agent.finding_teller import FindingTeller
from pgq_ops.checks.finding import Finding, Severity

NOBODY = Finding("claims-costly", Severity.WARNING, "autovacuum does not keep up", {"holder": None, "dead": 10}, "")
REPORT = replace(NOBODY, summary="because session 7", evidence={"holder": {"pid": 7, "seconds": 5.0}, "dead": 10})
OTHER = replace(REPORT, summary="because session 8", evidence={"holder": {"pid": 8, "seconds": 5.0}, "dead": 10})


@dataclass
class Log:
    seconds: float = 0.0
    lines: list[tuple[str, str]] = field(default_factory=list)

    def line(self, event: str, **values: Any) -> None:
        self.lines.append((event, values.get("summary", "")))

    def clock(self) -> float:
        return self.seconds


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    log = Log()
    monkeypatch.setattr(finding_teller, "_LOUDNESS", dict.fromkeys(Severity, log.line))
    monkeypatch.setattr(finding_teller.log, "info", log.line)
    return log


@pytest.fixture
def teller(log: Log) -> FindingTeller:
    return FindingTeller(log.clock)


def test_who_is_to_blame_is_told_as_soon_as_it_is_known(log: Log, teller: FindingTeller) -> None:
    teller.tell("jobs", [NOBODY], ())
    teller.tell("jobs", [REPORT], ())
    teller.tell("jobs", [], ())
    assert log.lines == [
        ("finding.opened", "autovacuum does not keep up"),
        ("finding.changed", "because session 7"),
        ("finding.closed", ""),
    ]


@pytest.mark.parametrize("after", [OTHER, NOBODY], ids=["another", "nobody"])
@pytest.mark.parametrize(("seconds", "told"), [(59.0, 0), (60.0, 1)])
def test_another_one_and_nobody_any_more_are_told_once_a_minute(
    log: Log, teller: FindingTeller, after: Finding, seconds: float, told: int
) -> None:
    teller.tell("jobs", [REPORT], ())
    log.seconds += seconds
    teller.tell("jobs", [after], ())
    assert log.lines[1:] == [("finding.changed", after.summary)] * told


def test_numbers_and_time_are_no_change(log: Log, teller: FindingTeller) -> None:
    teller.tell("jobs", [REPORT], ())
    log.seconds += 1_000.0
    teller.tell("jobs", [replace(REPORT, evidence={"holder": {"pid": 7, "seconds": 999.0}, "dead": 99_999})], ())
    assert len(log.lines) == 1


def test_what_could_not_be_judged_is_not_gone(log: Log, teller: FindingTeller) -> None:
    teller.tell("jobs", [REPORT], ())
    teller.tell("jobs", [], {"claims-costly"})
    assert len(log.lines) == 1
    teller.tell("jobs", [], ())
    assert log.lines[-1] == ("finding.closed", "")


def test_a_job_table_that_is_configured_no_longer_is_forgotten(log: Log, teller: FindingTeller) -> None:
    teller.tell("jobs", [REPORT], ())
    teller.keep(["others"])
    teller.tell("jobs", [REPORT], ())
    assert [event for event, _ in log.lines] == ["finding.opened", "finding.opened"]
