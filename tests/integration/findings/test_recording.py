"""What the flight recorder writes down, and what it does not."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.schema import findings as kept
from pgq_ops.schema import versions
from tests.support.findings import Flight, finding, flight_over

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

EVERYTHING = "SELECT f::text FROM pgq_ops.finding AS f UNION ALL SELECT c::text FROM pgq_ops.finding_change AS c"


@pytest.fixture
def flight(database: Database, monkeypatch: pytest.MonkeyPatch) -> Flight:
    return flight_over(database, monkeypatch)


def test_a_finding_is_one_row_from_its_opening_to_its_closing(flight: Flight) -> None:
    flight.look(finding(buffers=800))
    flight.look(finding(buffers=810))
    [(name, summary, evidence, remedy, closed)] = flight.rows("finding, summary, evidence, remedy, closed_at")
    assert (name, summary, evidence, remedy, closed) == (
        "claims-costly",
        "claims-costly: {'buffers': 800}",
        {"buffers": 800},
        "VACUUM;",
        None,
    )
    flight.look()
    assert flight.rows() == [("claims-costly", "warning", False)]
    [(ordered,)] = flight.rows("opened_at <= last_seen_at AND last_seen_at <= closed_at")
    assert ordered


def test_what_is_not_there_in_a_look_that_failed_in_part_is_not_gone(flight: Flight) -> None:
    flight.look(finding(), finding("dead-rows"))
    flight.look(unjudged={"claims-costly"})
    assert flight.rows() == [("claims-costly", "warning", True), ("dead-rows", "warning", False)]
    flight.look()
    assert flight.rows() == [("claims-costly", "warning", False), ("dead-rows", "warning", False)]


def test_evidence_that_merely_moves_is_not_written_and_costs_no_statement(flight: Flight) -> None:
    flight.look(finding(buffers=800, pid=1))
    before = flight.database.rows(EVERYTHING)
    for number in range(11):
        flight.look(finding(buffers=800 + number * 70, pid=1))
    assert flight.database.rows(EVERYTHING) == before


@pytest.mark.parametrize(
    ("turned", "written"),
    [
        ({"buffers": 1_599, "pid": 1}, False),
        ({"buffers": 1_600, "pid": 1}, True),
        ({"buffers": 400, "pid": 1}, True),
        ({"buffers": 401, "pid": 1}, False),
        ({"buffers": 800, "pid": 2}, True),
        ({"buffers": 800, "pid": 1, "seconds": 99}, True),
        ({"buffers": 800, "pid": 1, "queue": "a"}, True),
    ],
)
def test_a_turn_is_another_name_or_a_number_doubled_or_halved(
    flight: Flight,
    turned: dict[str, Any],
    written: bool,  # noqa: FBT001
) -> None:
    flight.look(finding(buffers=800, pid=1))
    flight.look(finding(**turned), after=61)
    assert (len(flight.said()) == 2) is written


def test_that_time_passes_is_no_turn(flight: Flight) -> None:
    flight.look(finding(holder={"pid": 1, "seconds": 61.5}, oldest_seconds={"a": 10}))
    flight.look(finding(holder={"pid": 1, "seconds": 950.0}, oldest_seconds={"a": 900}), after=61)
    assert len(flight.said()) == 1


def test_a_turn_is_written_once_a_minute_and_a_worse_severity_at_once(flight: Flight) -> None:
    flight.look(finding(pid=1))
    flight.look(finding(pid=2), after=59)
    assert len(flight.said()) == 1
    flight.look(finding(pid=3), after=1)
    assert len(flight.said()) == 2
    flight.look(finding(severity="critical", pid=3), after=1)
    assert len(flight.said()) == 3
    flight.look(finding(severity="warning", pid=3), after=1)
    assert len(flight.said()) == 3, "that it is less bad can wait"
    assert flight.rows("severity, worst_severity") == [("critical", "critical")]
    flight.look(finding(severity="warning", pid=3), after=60)
    assert flight.rows("severity, worst_severity") == [("warning", "critical")]


def test_after_a_hundred_turns_one_is_written_each_ten_minutes(flight: Flight) -> None:
    for number in range(100):
        flight.look(finding(pid=number), after=60)
    assert len(flight.said()) == 100
    flight.look(finding(pid=1_000), after=599)
    assert len(flight.said()) == 100
    flight.look(finding(pid=1_001), after=1)
    assert len(flight.said()) == 101


def test_what_is_still_there_is_confirmed_once_a_minute_with_its_latest_evidence(flight: Flight) -> None:
    flight.look(finding(buffers=800))
    before = flight.rows("last_seen_at, evidence")
    flight.look(finding(buffers=900), after=59)
    assert flight.rows("last_seen_at, evidence") == before
    flight.look(finding(buffers=950), after=1)
    [(seen_at, evidence)] = flight.rows("last_seen_at, evidence")
    assert (seen_at > before[0][0], evidence) == (True, {"buffers": 950})
    assert len(flight.said()) == 1


def test_what_comes_back_within_five_minutes_is_the_same_finding(flight: Flight) -> None:
    for _ in range(3):
        flight.look(finding(severity="critical"))
        flight.look()
    assert flight.rows("severity, returns, closed_at IS NULL") == [("critical", 2, False)]
    flight.database.execute("UPDATE pgq_ops.finding SET closed_at = closed_at - interval '299 s'")
    flight.look(finding(severity="warning"))
    assert flight.rows("severity, worst_severity, returns") == [("warning", "critical", 3)]
    flight.look()
    flight.database.execute("UPDATE pgq_ops.finding SET closed_at = closed_at - interval '301 s'")
    flight.look(finding())
    assert flight.rows("returns, closed_at IS NULL") == [(3, False), (0, True)]


def test_a_restarted_agent_goes_on_with_what_is_open_and_closes_what_is_gone(flight: Flight) -> None:
    flight.look(finding("a", pid=1), finding("b"))
    restarted = flight.other()
    restarted.look(finding("a", pid=1))
    assert flight.rows() == [("a", "warning", True), ("b", "warning", False)]
    assert len(flight.said()) == 2, "the restart is no turn"


def test_a_new_session_of_the_same_agent_looks_at_what_others_did_meanwhile(flight: Flight) -> None:
    flight.look(finding("a"))
    other = flight.other()
    other.look(finding("b"))
    flight.connection = flight.database.connect()
    flight.look(finding("b"), after=21)
    assert flight.rows() == [("a", "warning", False), ("b", "warning", True)]
    assert len(flight.said()) == 2, "what the other one wrote is not written again"


def test_two_agents_at_once_keep_one_row_and_both_go_on(flight: Flight) -> None:
    other = flight.other()
    flight.look()
    other.look()  # both know that nothing is open
    for one in (flight, other):
        one.look(finding())
    assert flight.rows() == [("claims-costly", "warning", True)]
    other.look()
    assert flight.rows() == [("claims-costly", "warning", False)]
    flight.look(finding(), after=60)  # finds that it was closed, and opens it again by its next look
    flight.look(finding())
    assert flight.rows("closed_at IS NULL, returns") == [(True, 1)]


def test_agents_of_two_modes_keep_what_each_sees(flight: Flight) -> None:
    manage = flight.other("manage")
    for _ in range(3):
        flight.look(finding("not-reaped", "critical"))
        manage.look()
    assert flight.rows("mode, closed_at IS NULL, returns") == [("observe", True, 0)]


def test_an_agent_in_another_mode_takes_over_from_one_that_is_gone(flight: Flight) -> None:
    flight.look(finding("a"), finding("b"))
    manage = flight.other("manage")
    manage.look(finding("a"))
    assert [open_ for (open_,) in flight.rows("closed_at IS NULL")] == [True] * 3, "both look"
    flight.database.execute("UPDATE pgq_ops.finding SET last_seen_at = now() - interval '170 s' WHERE finding = 'a'")
    flight.database.execute(
        "UPDATE pgq_ops.finding SET opened_at = now() - interval '1 h', last_seen_at = now() - interval '181 s'"
        " WHERE finding = 'b'"
    )
    manage.look(finding("a"), after=60)
    rows = flight.rows("mode, finding, closed_at IS NULL, closed_at = last_seen_at")
    assert rows == [("observe", "a", True, None), ("observe", "b", False, True), ("manage", "a", True, None)]


def test_when_an_agent_looked_is_known_and_a_gap_of_three_minutes_is_a_gap(flight: Flight) -> None:
    stretches = "SELECT extract(epoch FROM last_at - began_at)::int FROM pgq_ops.watch ORDER BY id"
    flight.look()
    flight.database.execute("UPDATE pgq_ops.watch SET began_at = began_at - interval '170 s', last_at = began_at")
    flight.database.execute("UPDATE pgq_ops.watch SET last_at = now() - interval '170 s'")
    flight.look(after=59)
    assert flight.database.rows(stretches) == [(0,)]
    flight.look(after=1)
    assert flight.database.rows(stretches) == [(170,)]
    flight.database.execute("UPDATE pgq_ops.watch SET last_at = now() - interval '181 s'")
    flight.look(after=60)
    assert len(flight.database.rows(stretches)) == 2


def test_times_are_those_of_the_look_and_not_of_the_writing(flight: Flight) -> None:
    flight.recorder.note(flight.table, [finding()])
    flight.now[0] += 59
    flight.recorder.write(flight.connection, {"jobs"})
    [(opened, seen)] = flight.rows("extract(epoch FROM now() - opened_at), extract(epoch FROM now() - last_seen_at)")
    assert 59 <= opened < 65
    assert 59 <= seen < 65
    flight.recorder.note(flight.table, [])
    flight.now[0] += 50
    flight.recorder.write(flight.connection, {"jobs"})
    [(closed,)] = flight.rows("extract(epoch FROM now() - closed_at)")
    assert 50 <= closed < 60


def test_of_several_looks_between_two_writes_the_first_that_showed_it_counts(flight: Flight) -> None:
    def looks(*looks: tuple[bool, bool]) -> None:
        for there, judged in looks:
            flight.recorder.note(flight.table, [finding()] if there else [], () if judged else {"claims-costly"})
            flight.now[0] += 10
        flight.recorder.write(flight.connection, {"jobs"})

    looks((False, True), (True, True), (True, True), (True, True))
    [(opened,)] = flight.rows("extract(epoch FROM now() - opened_at)")
    assert 30 <= opened < 35
    looks((True, True), (False, False), (False, True), (False, True))
    [(closed,)] = flight.rows("extract(epoch FROM now() - closed_at)")
    assert 20 <= closed < 25, "the first of them could not judge, and tells nothing of what is gone"
    looks((True, True))
    assert flight.rows("closed_at IS NULL, returns") == [(True, 1)]
    looks((False, False), (False, False))
    assert flight.rows("closed_at IS NULL, returns") == [(True, 1)], "a look that could not judge closes nothing"
    looks((False, True), (False, False))
    [(closed,)] = flight.rows("extract(epoch FROM now() - closed_at)")
    assert 20 <= closed < 25, "by the first look that could judge"


def test_what_a_lost_session_could_not_write_is_written_over_the_next_one(flight: Flight) -> None:
    flight.look()
    flight.connection.close()
    flight.look(finding())
    assert flight.rows() == []
    flight.connection = flight.database.connect()
    flight.now[0] += 20
    flight.recorder.write(flight.connection, {"jobs"})
    assert flight.rows() == [("claims-costly", "warning", True)]


def test_a_table_that_is_led_no_longer_is_left_to_the_next_leader(flight: Flight) -> None:
    flight.look(finding())
    flight.now[0] += 5
    flight.recorder.note(flight.table, [])
    flight.recorder.write(flight.connection, set())
    flight.recorder.write(flight.connection, {"jobs"})
    assert flight.rows() == [("claims-costly", "warning", True)]


def test_a_look_of_more_than_a_minute_ago_is_not_written_for_others_may_have_led_since(flight: Flight) -> None:
    flight.look(finding())
    flight.now[0] += 5
    flight.recorder.note(flight.table, [])
    flight.now[0] += 61
    flight.recorder.write(flight.connection, {"jobs"})
    assert flight.rows() == [("claims-costly", "warning", True)]


def test_without_the_schema_or_with_an_older_one_nothing_is_written_and_it_is_found_later(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    flight = flight_over(database, monkeypatch, installed=False)
    flight.look(finding())
    every = versions.versions()
    monkeypatch.setattr(versions, "versions", lambda: every[:2])
    versions.install(database.connect())
    flight.look(finding(), after=21)
    monkeypatch.setattr(versions, "versions", lambda: every)
    versions.install(database.connect())
    flight.look(finding(), after=21)
    assert flight.rows() == [("claims-costly", "warning", True)]


def test_a_role_that_may_not_write_is_told_once_and_its_session_is_as_good_as_before(
    flight: Flight, make_role: Roles, caplog: pytest.LogCaptureFixture
) -> None:
    role = make_role("agent")
    flight.database.execute(
        f'GRANT USAGE ON SCHEMA pgq_ops TO "{role}"; GRANT SELECT ON pgq_ops.schema_version TO "{role}"'
    )
    flight.connection = flight.database.connect(user=role)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            flight.look(finding(), after=30)
    assert [record.msg for record in caplog.records] == ["journal.not_written"]
    assert flight.connection.execute("SELECT 1").fetchone() == (1,)


def test_evidence_that_postgresql_cannot_hold_is_kept_without_that(flight: Flight) -> None:
    flight.look(
        finding(summary="a\0b", seconds=float("inf"), ratio=float("nan"), queues={"x\0y": 1}, text="\ud800", pids={7})
    )
    [(summary, evidence)] = flight.rows("summary, evidence")
    assert summary == "ab"
    assert evidence == {"seconds": None, "ratio": None, "queues": {"xy": 1}, "text": "?", "pids": [7]}


def test_a_very_long_finding_is_bounded_and_its_remedy_keeps_whole_lines(flight: Flight) -> None:
    line = f"CREATE INDEX {'x' * 86};"
    flight.look(finding(remedy="\n".join([line] * 1_000), summary="s" * 9_999, queue="q" * 9_999))
    [(summary, remedy, evidence)] = flight.rows("summary, remedy, evidence")
    assert (len(summary), len(evidence["queue"])) == (5_000, 500)
    *kept, note = remedy.splitlines()
    assert set(kept) == {line}
    assert 190 < len(kept) < 201
    assert "pgq-ops inspect" in note


def test_pruning_forgets_what_ended_more_than_14_days_ago_and_old_turns_but_the_last(flight: Flight) -> None:
    flight.look(finding("old"), finding("young"), finding("lost"), finding("long"))
    flight.database.execute("""
        UPDATE pgq_ops.finding SET opened_at = now() - interval '40 d', last_seen_at = now() - interval '15 d';
        UPDATE pgq_ops.finding SET closed_at = now() - interval '14 d 1 m' WHERE finding = 'old';
        UPDATE pgq_ops.finding SET closed_at = now() - interval '13 d 23 h' WHERE finding = 'young';
        UPDATE pgq_ops.finding SET last_seen_at = now() WHERE finding = 'long';
        UPDATE pgq_ops.watch SET last_at = now() - interval '14 d 1 m';
        DELETE FROM pgq_ops.finding_change USING pgq_ops.finding AS f WHERE id = finding_id AND finding = 'long';
        INSERT INTO pgq_ops.finding_change (finding_id, at, severity, summary, evidence, remedy)
        SELECT id, now() - make_interval(days => age), 'info', age::text, '{}', ''
        FROM pgq_ops.finding, unnest(ARRAY[40, 30, 20, 10]) AS age WHERE finding = 'long';
    """)
    assert kept.prune(flight.connection) == 3
    assert [name for (name,) in flight.rows("finding")] == ["young", "long"]
    assert flight.said() == ["20", "10", "young: {}"]
    assert kept.prune(flight.connection) == 0


def test_pruning_works_in_bounded_batches(flight: Flight, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "PRUNE_BATCH", 10)
    flight.database.execute("""
        INSERT INTO pgq_ops.finding (table_oid, job_table, mode, finding, opened_at, last_seen_at, closed_at, severity,
                                     worst_severity, summary, evidence, remedy, host, pid)
        SELECT 1, 'jobs', 'observe', 'x', at, at, at, 'info', 'info', '', '{}', '', '', 1
        FROM (SELECT now() - interval '15 d' AS at FROM generate_series(1, 15)) AS old
    """)
    assert [kept.prune(flight.connection) for _ in range(3)] == [10, 5, 0]
