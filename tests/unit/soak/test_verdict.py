"""Every way in which a soak can fail, made up as a record and an end that do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from soak.final import Final, Row, Taken
from soak.history import History, histories
from soak.record import Attempt, Pen, read
from soak.terms import CAP, LEASE, SETTLE_SECONDS, STARTED, JobTable
from soak.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    Rows = tuple[tuple[int, ...], ...]

GRACE_US = 300_000
START_US = 50_000_000
SETTLE_US = round(SETTLE_SECONDS * 1e6)


def attempt(action: str, version: int = 0, rows: Rows | None = None, worker: str = "a", error: str = "") -> Attempt:
    return Attempt(worker, "lease", action, 7 if version else 0, version, int(action == "enqueue"), rows, error)


def claim(version: int, at_us: int, until_us: int, worker: str = "a") -> Attempt:
    return attempt("claim", 0, ((7, version, 0, until_us, at_us),), worker)


def did(action: str, version: int, at_us: int = 0) -> Attempt:
    return attempt(action, version, ((1, 0, at_us),))


def refused(action: str, version: int, at_us: int) -> Attempt:
    return attempt(action, version, ((0, 0, at_us),))


ENQUEUED = attempt("enqueue", 0, ((7,),))
DONE = Row(7, "done", 2, 2, moved=False)
# Claimed, not finished, taken back a second after the lease's end, claimed by another and completed.
STORY = [ENQUEUED, claim(1, 100, 1_000_000), claim(2, 2_500_000, 3_500_000, "b"), did("complete", 2)]
TAKEN = Taken(1, 7, 1, "requeued", 2_000_000)


def found(
    attempts: list[Attempt],
    rows: tuple[Row, ...] = (DONE,),
    log: tuple[Taken, ...] = (TAKEN,),
    table: JobTable = LEASE,
    starts_us: frozenset[int] = frozenset(),
) -> str:
    history = histories(attempts).get("lease", History())
    return "\n".join(Verdict(table, history, Final(rows, log), starts_us).violations())


def test_a_job_that_was_taken_back_and_completed_by_the_next_worker_is_well() -> None:
    assert found(STORY) == ""


def test_a_job_that_is_nowhere_was_lost() -> None:
    assert "job 7 was enqueued and is nowhere" in found(STORY, rows=())


def test_a_job_in_both_tables_is_there_twice() -> None:
    assert "job 7 is there 2 times" in found(STORY, rows=(DONE, DONE._replace(moved=True)))


@pytest.mark.parametrize(("tried", "wrong"), [(1, False), (0, True)])
def test_a_job_that_nobody_was_told_of_is_right_only_if_somebody_tried_to_enqueue(tried: int, *, wrong: bool) -> None:
    story = [*[attempt("enqueue")] * tried, *STORY[1:]]
    assert ("1 jobs that nobody enqueued" in found(story)) is wrong


def test_a_job_that_is_not_finished_in_the_end_is_told() -> None:
    assert "job 7 is still running" in found(STORY[:3], rows=(DONE._replace(status="running"),))


def test_a_job_that_is_done_must_have_been_completed_under_its_version() -> None:
    assert "job 7 is done under version 2, which nobody completed" in found(STORY[:3])
    assert found([*STORY[:3], attempt("complete", 2)]) == ""


def test_a_completion_that_was_answered_stands() -> None:
    story = [*STORY[:2], did("complete", 1), *STORY[2:]]
    assert "complete of version 1 was undone" in found(story)


def test_a_claim_that_was_answered_stands() -> None:
    story = [*STORY, claim(3, 4_000_000, 5_000_000)]
    assert "version 3 of job 7 was undone" in found(story)


def test_a_version_is_given_and_ended_once() -> None:
    assert "version 2 of job 7 was given to b, c" in found([*STORY, claim(2, 2_500_000, 3_500_000, "c")])
    assert "version 2 of job 7 was ended twice" in found([*STORY, did("complete", 2)])


@pytest.mark.parametrize(("tried", "wrong"), [(1, False), (0, True)])
def test_a_version_without_a_record_is_right_only_if_a_claim_has_no_outcome(tried: int, *, wrong: bool) -> None:
    story = [STORY[0], *[attempt("claim")] * tried, *STORY[2:]]
    assert ("1 claims that no worker made" in found(story)) is wrong


@pytest.mark.parametrize(("early_us", "wrong"), [(0, False), (1, True)])
def test_nothing_is_taken_back_before_lease_and_grace_are_over(early_us: int, *, wrong: bool) -> None:
    log = (TAKEN._replace(at_us=1_000_000 + GRACE_US - early_us),)
    assert ("version 1 of job 7 was taken back" in found(STORY, log=log)) is wrong


def test_a_heartbeat_moves_the_end_of_what_may_not_be_touched() -> None:
    beat = attempt("extend", 1, ((1, 2_100_000, 900_000),))
    assert "was taken back 0.400 s before lease and grace were over" in found([*STORY[:2], beat, *STORY[2:]])


@pytest.mark.parametrize(("at_us", "wrong"), [(1_000_000 + GRACE_US, False), (1_000_000 + GRACE_US - 1, True)])
def test_nobody_else_claims_it_before_that(at_us: int, *, wrong: bool) -> None:
    story = [*STORY[:2], claim(2, at_us, 3_500_000, "b"), STORY[3]]
    assert ("was claimed by another" in found(story)) is wrong


@pytest.mark.parametrize(("at_us", "wrong"), [(1_000_000 + GRACE_US, False), (1_000_000 + GRACE_US - 1, True)])
def test_nothing_is_refused_to_a_worker_before_that(at_us: int, *, wrong: bool) -> None:
    story = [*STORY[:2], refused("complete", 1, at_us), *STORY[2:]]
    assert ("was refused to its worker" in found(story)) is wrong


def test_a_requeue_without_its_line_in_the_log_is_told() -> None:
    assert "version 1 of job 7 was requeued, and the log does not say so" in found(STORY, log=())


def test_a_line_in_the_log_without_its_requeue_is_told() -> None:
    wrong = (TAKEN, TAKEN._replace(number=2, version=2, at_us=9_000_000))
    assert "the log says that version 2 of job 7 was requeued: it was not" in found(STORY, log=wrong)
    assert "version 1 of job 7 was requeued 2 times" in found(STORY, log=(TAKEN, TAKEN._replace(number=2)))


@pytest.mark.parametrize("log", [(), (TAKEN,)])
def test_where_a_worker_may_have_given_the_job_back_itself_the_log_may_say_either(log: tuple[Taken, ...]) -> None:
    assert found([*STORY[:2], attempt("release", 1), *STORY[2:]], log=log) == ""


def test_where_a_worker_gave_the_job_back_itself_the_log_says_nothing() -> None:
    story = [*STORY[:2], did("release", 1), *STORY[2:]]
    assert found(story, log=()) == ""
    assert "the log says that version 1 of job 7 was requeued: it was not" in found(story)


def buried(attempts: int, table: JobTable) -> str:
    story: list[Attempt] = [ENQUEUED]
    log: list[Taken] = []
    for version in range(1, attempts + 1):
        story.append(claim(version, version * 10_000_000, version * 10_000_000 + 1))
        outcome = "dead_lettered" if version == attempts else "requeued"
        log.append(Taken(version, 7, version, outcome, version * 10_000_000 + 5_000_000))
    status = "failed" if table is LEASE else "dead"
    return found(story, (Row(7, status, attempts, attempts, moved=table is STARTED),), tuple(log), table)


@pytest.mark.parametrize("table", [LEASE, STARTED])
def test_jobs_are_buried_at_the_cap_neither_before_nor_after(table: JobTable) -> None:
    assert buried(CAP, table) == ""
    assert f"was dead_lettered after {CAP - 1} of {CAP} attempts" in buried(CAP - 1, table)
    assert f"job 7 has {CAP + 1} attempts" in buried(CAP + 1, table)


@pytest.mark.parametrize(("after_us", "wrong"), [(SETTLE_US, False), (SETTLE_US - 1, True), (-1, False)])
def test_nothing_is_taken_back_within_settle_after_the_server_started(after_us: int, *, wrong: bool) -> None:
    log = (TAKEN._replace(at_us=START_US + after_us),)
    story = [*STORY[:2], claim(2, START_US + 2 * SETTLE_US, START_US + 3 * SETTLE_US), STORY[3]]
    assert ("after the server started" in found(story, log=log, starts_us=frozenset({START_US}))) is wrong


@pytest.mark.parametrize(("state", "wrong"), [("lost", False), ("57P01", False), ("40001", True), ("23514", True)])
def test_workers_meet_no_errors_but_lost_connections(state: str, *, wrong: bool) -> None:
    story = [*STORY[:2], attempt("extend", 1, error=state), *STORY[2:]]
    assert (f"workers met the error {state} 1 times" in found(story)) is wrong


def test_a_worker_killed_between_two_lines_leaves_an_attempt_without_an_outcome(tmp_path: Path) -> None:
    pen = Pen(tmp_path / "a.record")
    pen.outcome(pen.intent("lease", "claim"), [(7, 1, False, 2_000, 1_000)])
    pen.unknown(pen.intent("lease", "extend", 7, 1), "57P01")
    pen.intent("lease", "complete", 7, 1)
    told, lost, killed = read(tmp_path)
    assert (told.action, told.rows) == ("claim", ((7, 1, False, 2_000, 1_000),))
    assert (lost.action, lost.rows, lost.error) == ("extend", None, "57P01")
    assert (killed.action, killed.rows, killed.error) == ("complete", None, "")
