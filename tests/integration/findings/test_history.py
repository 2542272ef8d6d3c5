"""What `pgq-ops findings` tells of the past, and of what nobody saw."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.cli.findings_json import document
from pgq_ops.cli.findings_lines import lines
from pgq_ops.cli.findings_report import report_of
from pgq_ops.errors import NotInstalled, NotPermitted, UsageError
from pgq_ops.schema.versions import install
from pgq_ops.stats import finding_history
from tests.support.binding import loaded_of
from tests.support.findings import Flight, finding, flight_over, move
from tests.support.jobs import FIELD

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

CULPRIT = finding(
    severity="critical",
    summary="claims of public.jobs read 10,199 buffers (3 when healthy): 80,000 dead rows cannot be removed since"
    " 02:30 UTC because session 4242 (report-job, user bi) is idle in transaction for 42m",
    remedy="pgq-ops transactions end 4242@1764000000.123456 --reason a-name-that-is-longer-than-a-terminal-is-wide-0123456789",
    buffers=10_199,
    holder={"pid": 4242, "user": "bi"},
)


@pytest.fixture
def flight(database: Database, monkeypatch: pytest.MonkeyPatch) -> Flight:
    return flight_over(database, monkeypatch)


def told(flight: Flight, *names: str, at: str | None = None, since: str | None = None) -> str:
    report = report_of(loaded_of(FIELD, flight.database.dsn), names, at=at, since=since)
    return "\n".join(line.plain for line in lines(report, 80))


def found(flight: Flight, *, at: str | None = None, since: str | None = None) -> dict[str, Any]:
    """The document's part for the one job table."""
    report = report_of(loaded_of(FIELD, flight.database.dsn), (), at=at, since=since)
    [table] = document(report)["job_tables"]
    return dict(table)


def test_who_it_was_is_told_when_the_session_is_long_gone(flight: Flight) -> None:
    flight.look(finding(severity="warning", summary="claims read 851 buffers", buffers=851), finding("other"))
    move(flight, 600)
    flight.look(CULPRIT, finding("other"), after=600)
    move(flight, 600)
    flight.look(after=600)
    move(flight, 7_200)
    at_worst = told(flight, at="2h5m")
    assert "claims-costly" in at_worst
    assert "session 4242" in at_worst
    assert " to " in at_worst
    assert ": as said first above; buffers 851 -> 10,199" in " ".join(at_worst.split())
    assert "holder: pid 4242, user bi" in at_worst
    assert "# advised then:" in at_worst
    assert CULPRIT.remedy in at_worst, "a command is neither cut nor broken"
    assert max(len(line) for line in at_worst.splitlines() if CULPRIT.remedy not in line) <= 80
    before = {one["id"]: one for one in found(flight, at="2h15m")["findings"]}
    assert (before["claims-costly"]["severity"], before["claims-costly"]["evidence"]) == ("warning", {"buffers": 851})
    assert (before["claims-costly"]["worst_severity"], before["claims-costly"]["open"]) == ("critical", False)
    assert 1_195 < before["claims-costly"]["lasted_seconds"] < 1_210
    assert [turn["severity"] for turn in before["claims-costly"]["turns"]] == ["warning", "critical"]
    assert set(before) == {"claims-costly", "other"}
    assert found(flight, at="1h59m")["findings"] == []
    assert found(flight, at="2h25m")["findings"] == []


def test_without_a_time_it_is_the_last_24_hours_at_their_worst(flight: Flight) -> None:
    flight.look(CULPRIT)
    flight.look(after=60)
    move(flight, 86_400 - 120)
    [one] = found(flight)["findings"]
    assert (one["id"], one["severity"]) == ("claims-costly", "critical")
    move(flight, 240)
    assert found(flight)["findings"] == []
    assert [one["id"] for one in found(flight, since="25h")["findings"]] == ["claims-costly"]


def test_what_is_open_now_is_told_so_and_at_a_moment_the_worst_comes_first(flight: Flight) -> None:
    flight.look(finding("long-ago", "info"))
    move(flight, 3_600)
    flight.look(finding("long-ago", "info"), CULPRIT, finding("mild"), after=60)
    text = told(flight, at="0s")
    assert "so far" in text
    assert text.count("# advised then:") == 3
    assert [text.index(name) for name in ("claims-costly", "mild", "long-ago")] == sorted(
        text.index(name) for name in ("claims-costly", "mild", "long-ago")
    )
    assert {one["open"] for one in found(flight)["findings"]} == {True}


def test_what_a_killed_agent_left_open_was_last_seen_then_and_nobody_has_looked_since(flight: Flight) -> None:
    flight.look(CULPRIT)
    move(flight, 1_000)
    text = told(flight)
    assert "last seen" in text
    assert "nobody has looked since" in " ".join(text.split())
    [one] = found(flight, at="5m")["findings"]
    assert (one["open"], one["closed_at"]) == (False, None)
    assert found(flight, at="5m")["watched"] is False
    assert "nobody looked at that moment; an agent looked until" in " ".join(told(flight, at="5m").split())
    assert found(flight, at="16m20s")["watched"] is True


def test_an_agent_that_looks_and_sees_nothing_is_told_from_nobody_looking(flight: Flight) -> None:
    assert "nothing is known" in told(flight)
    assert "no agent has, within 14 days" in told(flight, at="1h")
    flight.look()
    move(flight, 600)
    flight.look(after=60)  # after a gap of ten minutes
    assert "nothing was wrong while an agent looked" in told(flight, since="1h")
    stretches = found(flight, since="1h")["watched"]
    assert len(stretches) == 2
    flight.database.execute("UPDATE pgq_ops.watch SET began_at = began_at - interval '2 h'")
    quiet = told(flight, since="1h")
    assert "nothing was wrong\n" in f"{quiet}\n"
    assert "nobody looked" not in quiet


def test_many_turns_are_told_in_part_and_kept_whole_in_the_document(flight: Flight) -> None:
    for pid in range(9):
        flight.look(finding(summary=f"held by s{pid}", pid=pid), after=60)
        move(flight, 90 if pid == 7 else 60)
    text = told(flight)
    assert [number for number in range(9) if re.search(rf", for \w+: held by s{number}", text)] == [0, 5, 6, 8]
    assert "as said first above; pid 6 -> 7" in text
    assert "... 4 turns more: --json" in text
    [one] = found(flight)["findings"]
    assert one["evidence"] == {"pid": 7}, "it stood longer than what was seen last"
    assert [turn["evidence"]["pid"] for turn in one["turns"]] == list(range(9))
    [then] = found(flight, at="5m")["findings"]
    assert then["evidence"] == {"pid": 4}


def test_what_came_back_within_minutes_says_how_often(flight: Flight) -> None:
    for _ in range(3):
        flight.look(CULPRIT)
        flight.look()
    assert "gone for minutes and back 2 times" in " ".join(told(flight).split())


def test_a_table_that_was_remembered_and_is_configured_no_longer_is_told_too(flight: Flight) -> None:
    flight.look(CULPRIT)
    flight.database.execute("UPDATE pgq_ops.finding SET job_table = 'old'; UPDATE pgq_ops.watch SET job_table = 'old'")
    text = told(flight)
    assert "jobs  nothing is known" in text
    assert "old  1 finding" in text
    assert "jobs" not in told(flight, "old").replace("public.jobs", "")
    assert told(flight, "old", "old").count("old  1 finding") == 1
    with pytest.raises(UsageError, match='"job" is no job table that is configured or remembered: did you mean "jobs"'):
        told(flight, "job")


def test_a_dropped_or_locked_table_hides_nothing_of_its_past(flight: Flight) -> None:
    flight.look(CULPRIT)
    flight.database.execute("DROP TABLE jobs")
    assert "session 4242" in told(flight)


def test_more_than_can_be_told_is_said(flight: Flight, monkeypatch: pytest.MonkeyPatch) -> None:
    flight.look(finding("a"), finding("b"))
    monkeypatch.setattr(finding_history, "MOST_FINDINGS", 1)
    assert "There was more" in told(flight)
    assert len(found(flight)["findings"]) == 1


def test_control_characters_do_not_reach_the_terminal(flight: Flight) -> None:
    flight.look(finding(summary="\x1b[2Jgone", remedy="a\x1b[1m", queue="\x1b]0;x"))
    assert "\x1b" not in told(flight, at="0s")


def test_without_the_schema_it_says_what_is_needed(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    flight = flight_over(database, monkeypatch, installed=False)
    with pytest.raises(NotInstalled, match=r"the history of findings needs the schema pgq_ops.*`pgq-ops install`"):
        told(flight)


def test_a_role_that_may_not_read_it_is_told_the_grant(database: Database, make_role: Roles) -> None:
    install(database.connect())
    role = make_role("reader")
    database.execute(f"GRANT USAGE ON SCHEMA pgq_ops TO {role}; GRANT SELECT ON pgq_ops.schema_version TO {role}")
    with pytest.raises(NotPermitted, match=f'GRANT SELECT ON TABLE pgq_ops.finding, .* TO "{role}";') as refused:
        report_of(loaded_of(FIELD, database.dsn_as(role)), (), at=None, since=None)
    database.execute(refused.value.remedy)
    assert report_of(loaded_of(FIELD, database.dsn_as(role)), (), at=None, since=None).tables
