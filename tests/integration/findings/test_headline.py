"""What `pgq-ops findings` tells first of an episode that was long, and how it tells the rest at 80 columns."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.cli.findings_json import document
from pgq_ops.cli.findings_lines import lines
from pgq_ops.cli.findings_report import report_of
from pgq_ops.units import parse_duration
from tests.support.binding import loaded_of
from tests.support.findings import Flight, finding, flight_over, move
from tests.support.jobs import FIELD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.finding import Finding
    from tests.support.database import Database


@pytest.fixture
def flight(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Flight]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield flight_over(database, monkeypatch)
    time.tzset()


def blamed(who: str, pid: int, buffers: int, severity: str = "critical", kind: str = "backend") -> Finding:
    """Slow claims, and one holder with the command that ends it."""
    holder = {
        "kind": kind,
        "session": f"{pid}@1764000000.123456" if pid else None,
        "pid": pid or None,
        "name": who,
        "user": "bi",
        "database": None,
        "state": "idle in transaction" if pid else "",
        "seconds": 2520.4,
        "xid_age": 81_000,
    }
    summary = f"claims of public.jobs read {buffers:,} buffers (3 when healthy) because {who} has held it for 42m"
    return finding(severity=severity, summary=summary, remedy=f"end {who};", buffers=buffers, holder=holder)


def episode(flight: Flight, *sayings: tuple[Finding, int]) -> None:
    """Each of them for so many seconds, then nothing."""
    for says, seconds in sayings:
        flight.look(says, after=60)
        move(flight, seconds)
    flight.look(after=60)
    watched_throughout(flight)


def watched_throughout(flight: Flight) -> None:
    """An agent has looked all the time, as it does each minute."""
    flight.database.execute("UPDATE pgq_ops.watch SET began_at = now() - interval '1 d', last_at = now()")


def told(flight: Flight, *, at: str | None = None) -> str:
    report = report_of(loaded_of(FIELD, flight.database.dsn), (), at=at, since=None)
    return "\n".join(line.plain for line in lines(report, 80))


def flat(text: str) -> str:
    return " ".join(text.split())


def is_told(words: str, text: str, *seconds: int) -> bool:
    """Whether the words stand there, with a duration for each `<>`, which is longer by as much as a test takes."""
    match = re.search(re.escape(words).replace("<>", r"(\w+)"), flat(text))
    lengths = [] if match is None else [parse_duration(length).total_seconds() for length in match.groups()]
    return match is not None and all(0 <= there - wanted <= 6 for there, wanted in zip(lengths, seconds, strict=True))


def found(flight: Flight) -> dict[str, Any]:
    report = report_of(loaded_of(FIELD, flight.database.dsn), (), at=None, since=None)
    [one] = document(report)["job_tables"][0]["findings"]
    return dict(one)


def test_who_was_guilty_for_eleven_minutes_is_the_headline_not_the_innocent_of_the_last_second(flight: Flight) -> None:
    report, innocent = "report-job", blamed("stray-gid", 0, 2_100, kind="prepared")
    episode(
        flight,
        (blamed(report, 4242, 851, "warning"), 120),
        (blamed(report, 4242, 2_000), 260),
        (blamed(report, 4242, 4_100), 280),
        (innocent, 8),
    )
    one, text = found(flight), told(flight)
    assert (one["evidence"]["holder"]["name"], one["remedy"]) == (report, "end report-job;")
    assert [turn["evidence"]["holder"]["name"] for turn in one["turns"]] == [report, report, report, "stray-gid"]
    stood = [turn["stood_seconds"] for turn in one["turns"]]
    assert stood == [pytest.approx(seconds, abs=6) for seconds in (120, 260, 280, 8)]
    assert "because report-job has held it" in flat(text.partition("# advised then:")[0].partition("warning, for")[0])
    assert text.endswith("# advised then:\n  end report-job;")
    innocents = "critical, for <>: claims of public.jobs read 2,100 buffers (3 when healthy) because stray-gid has"
    assert is_told(innocents, text, 8)
    assert is_told("critical, for <>: as said first above; buffers 2,000 -> 4,100", text, 280)
    assert is_told("warning -> critical, for <>: buffers 851 -> 2,000", text, 260)


def test_turns_that_name_the_same_stand_together_against_one_that_stood_longer_than_each(flight: Flight) -> None:
    both = [(blamed("report-job", 4242, 100 * 2**step), 100) for step in range(4)]
    episode(flight, *both, (blamed("other-job", 7, 9_000), 150), (blamed("mild", 8, 100, "warning"), 3_000))
    assert found(flight)["evidence"]["holder"]["name"] == "report-job"
    assert found(flight)["severity"] == "critical"


def test_a_time_in_which_nobody_looked_makes_nobody_the_guilty(flight: Flight) -> None:
    flight.look(blamed("innocent", 7, 4_100))
    move(flight, 100)
    flight.look(blamed("innocent", 7, 4_100), after=100)
    move(flight, 7_200)  # the agent is down, looks again, and writes the turn a minute later
    flight.other().look(blamed("report-job", 4242, 4_100), after=100)
    for _ in range(10):
        move(flight, 60)
        flight.look(blamed("report-job", 4242, 4_100), after=60)
    move(flight, 10)
    flight.look(after=10)
    one, text = found(flight), told(flight)
    assert one["evidence"]["holder"]["name"] == "report-job"
    first, second = one["turns"]
    assert first["stood_seconds"] > 7_200
    assert first["watched_seconds"] == pytest.approx(220, abs=6)
    assert second["stood_seconds"] == pytest.approx(second["watched_seconds"], abs=6)
    assert is_told("critical, for <> (an agent looked for <> of it): claims", text, 7_320, 220)


def test_of_several_holders_the_one_that_is_named_first_counts(flight: Flight) -> None:
    def held(*pids: int) -> Finding:
        holders = [{"kind": "backend", "pid": pid, "name": f"s{pid}"} for pid in pids]
        return finding("horizon-held", summary=f"session {pids[0]} holds it", remedy=f"end {pids[0]}", holders=holders)

    episode(flight, (held(1, 2), 70), (held(1, 3, 4, 5, 6), 80), (held(9), 100))
    assert found(flight)["remedy"] == "end 1"
    then = told(flight, at="3m")
    assert "  holders: pid 1, s1\n" in then
    assert "  holders: 2 more: --json\n" in then


def test_what_was_seen_last_and_names_others_is_not_the_headline(flight: Flight) -> None:
    flight.look(blamed("report-job", 4242, 4_100))
    move(flight, 660)
    # Confirmed within the minute in which no turn is written.
    flight.look(blamed("report-job", 4242, 9_900), after=65)
    flight.look(blamed("other", 7, 9_900), after=59)
    flight.database.execute(
        "UPDATE pgq_ops.finding SET summary = 'stray', evidence = '{\"holder\": {\"name\": \"stray\"}}', remedy = 'end stray;'"
    )
    flight.look(after=5)
    one = found(flight)
    assert one["evidence"]["holder"]["name"] == "report-job"
    assert one["turns"][-1]["evidence"]["holder"]["name"] == "stray"


def test_evidence_is_short_lines_that_fit(flight: Flight) -> None:
    episode(flight, (blamed("report-job", 4242, 851), 600))
    text = told(flight, at="5m")
    who = "holder: session 4242@1764000000.123456, report-job, user bi, idle in transaction, 42m, xid_age 81,000"
    assert who in flat(text)
    assert "\n            transaction, 42m, xid_age 81,000\n" in text, "it goes on further to the right"
    assert "buffers: 851\n" in text
    assert "{" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_evidence_of_each_kind_is_plain_words(flight: Flight) -> None:
    says = finding(
        queues=[{"queue": "mails", "seconds": 330.2}, {"queue": "(null)", "seconds": None}],
        by_queue={"mails": 12_000, "other": 3},
        tables=[f"jobs_p{number}" for number in range(5)],
        idle_seconds=0.25,
        small=True,
        end=None,
        holder=None,
        dead_rows=None,
        nothing=[],
    )
    episode(flight, (says, 600))
    text = told(flight, at="5m")
    for line in (
        "queues: queue mails, 5m30s",
        "queues: queue (null)",
        "by_queue: mails 12,000, other 3",
        "tables: jobs_p0, jobs_p1, jobs_p2, 2 more: --json",
        "idle_seconds: 0.25s",
        "small: yes",
        "end: none",
        "holder: none",
        "dead_rows: not known",
        "nothing: none",
    ):
        assert f"          {line}\n" in text


def test_a_severity_that_rises_with_the_same_words_has_its_reason(flight: Flight) -> None:
    words = "the statistics of public.jobs were lost"
    mild = finding("statistics-lost", "info", words, lost=1, written_since=0)
    worse = finding("statistics-lost", "warning", words, lost=1, written_since=1)
    episode(flight, (mild, 100), (worse, 200))
    assert is_told("info -> warning, for <>: as said first above; written_since 0 -> 1", told(flight), 200)


def test_what_is_open_still_was_advised_then_too(flight: Flight) -> None:
    flight.look(blamed("report-job", 4242, 4_100))
    move(flight, 100)
    flight.look(blamed("other", 7, 4_100), after=65)
    text = told(flight)
    assert "so far" in text
    assert text.endswith("# advised then:\n  end report-job;")


def test_the_sentence_has_the_moment_from_which_it_counts(flight: Flight) -> None:
    episode(flight, (blamed("report-job", 4242, 851), 600), (blamed("report-job", 4242, 852), 5))
    one = found(flight)
    assert f"at {one['opened_at'][11:19]}: claims of" in told(flight, at="9m")
    assert f"at {one['last_seen_at'][11:19]}: claims of" in told(flight)


def test_what_came_and_went_says_how_long_it_was_there_for_certain(flight: Flight) -> None:
    for seconds in (900, 240):
        flight.look(blamed("report-job", 4242, 851))
        move(flight, seconds)
        flight.look()
        move(flight, 100)
    watched_throughout(flight)
    text, one = told(flight), found(flight)
    assert one["lasted_seconds"] == pytest.approx(1_240, abs=6)
    assert one["there_at_least_seconds"] == pytest.approx(940, abs=6)
    assert is_told(", <>, gone for minutes and back 1 time: there for <> of that at least", text, 1_240, 940)
    assert is_told("critical, for up to <>: as said first above", text, 1_000)
