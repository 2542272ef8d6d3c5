"""What `why` foretells of a running job, compared with what the reaper then does; and what it did before."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from pgq_ops.cli import why_reaper
from pgq_ops.cli.why_outlook import outlook
from pgq_ops.schema.versions import install
from pgq_ops.stats.job_life import Moment
from tests.support.jobs import FIELD, FIELD_TABLE, create_field_table, reap
from tests.support.why import MANAGED, as_json, asked, both, note_pass, run, told

if TYPE_CHECKING:
    from tests.support.database import Database

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize("counted_at", ["claim", "reap"])
@pytest.mark.case("R9")
def test_what_is_foretold_is_what_the_reaper_then_does(database: Database, counted_at: str) -> None:
    create_field_table(database)
    toml = FIELD + f'attempts_counted_at = "{counted_at}"\n'
    rows = [(0, 5), (3, 5), (4, 5), (5, 5), (6, 5), (40, 100)]
    for job, (attempts, cap) in enumerate(rows):
        run(database, "now() - interval '42 s'", job, attempts=attempts, cap=cap)
    foretold = [both(database, job, toml) for job in range(len(rows))]
    reap(database, toml)
    done = database.rows("SELECT status, extract(epoch FROM run_at - now())::float8 FROM jobs ORDER BY id")
    assert {status for status, _ in done} == {"dead", "pending"}
    for (attempts, cap), (seen, text), (status, delay) in zip(rows, foretold, done, strict=True):
        made = attempts + (counted_at == "reap")
        assert f"attempt {made} of {cap}" in text
        assert (status == "dead") is (made >= cap)
        if status == "dead":
            assert (seen["reaper"]["action"], seen["reaper"]["delay_seconds"]) == ("bury", None)
            assert "buries it, as its attempts have reached the cap" in text
        else:
            shortest, longest = seen["reaper"]["delay_seconds"]
            assert (seen["reaper"]["action"], longest) == ("requeue", min(3_600, 10 * 2**attempts))
            assert shortest == pytest.approx(0.9 * longest)
            assert shortest - 20 <= delay <= longest


def test_with_an_agent_it_is_said_by_when_the_job_is_taken_back(database: Database) -> None:
    create_field_table(database)
    run(database, "now() - interval '12 s'")
    run(database, "now() + interval '2 m'", 2)
    note_pass(database, SECOND, seconds_ago=4)
    seen, text = both(database, 1, MANAGED)
    assert (seen["reaper"]["reaping"], seen["reaper"]["obstacle"], seen["reaper"]["late"]) == (True, None, False)
    assert 0 < seen["reaper"]["within_seconds"] <= 6.5
    assert re.search(r"\nThe reaper requeues it with 1m12s to 1m20s delay within \ds\.", text)
    seen, text = both(database, 2, MANAGED)
    assert 100 < seen["reaper"]["within_seconds"] <= 130.5
    assert "Unless its worker renews the lease, the reaper requeues it" in text
    assert "pgq-ops reap" not in text


@pytest.mark.parametrize(
    ("over", "uptime", "late"), [(29.9, 1e6, False), (30.1, 1e6, True), (30.1, 29.9, False), (4_000.0, 29.9, False)]
)
def test_a_reaper_is_late_once_it_has_missed_three_passes_that_it_could_have_made(
    database: Database,
    over: float,
    uptime: float,
    late: bool,  # noqa: FBT001
) -> None:
    create_field_table(database)
    run(database, "now() - interval '12 s'")
    note_pass(database, SECOND)
    [facts] = asked(database, 1, MANAGED).tables[0].jobs
    times = {"lease_expires_at": Moment("2026-01-01T00:00:00+00:00", over)}
    facts = replace(facts, life=replace(facts.life, times=times), reaper=replace(facts.reaper, uptime_seconds=uptime))
    seen = outlook(facts)
    assert seen is not None
    assert seen.late is late
    words = " ".join(said.text for said in why_reaper.told(facts))
    assert ("should have taken it back by now" in words) is late


def test_without_an_agent_that_reaps_it_is_said_why_and_what_a_person_can_run(database: Database) -> None:
    create_field_table(database)
    run(database, "now() - interval '42 s'")
    observing = told(database, 1)
    assert "By this configuration no agent takes it back" in observing
    assert observing.splitlines()[-2].strip() == "pgq-ops reap jobs"
    unrecorded = told(database, 1, MANAGED)
    assert "whether an agent reaps is not recorded" in unrecorded.lower()
    assert "  pgq-ops reap jobs" in unrecorded.splitlines()
    install(database.connect())
    assert "No agent has reaped this table yet." in told(database, 1, MANAGED)
    note_pass(database, SECOND, seconds_ago=3_600)
    assert "No agent takes it back: the last pass of one was 1h ago." in told(database, 1, MANAGED)
    note_pass(database, SECOND, outcome="failed", message="no room\nmore of it")
    failed = told(database, 1, MANAGED)
    assert "ago, and failed: no room. By hand, this requeues it" in failed
    assert as_json(database, 1, MANAGED)["reaper"]["reaping"] is False


def test_what_the_last_pass_was_refused_is_told(database: Database) -> None:
    create_field_table(database)
    run(database, "now() - interval '12 s'")
    note_pass(database, SECOND, message="1 job refused: 23505: twin")
    assert re.search(r"Of the last pass, \d+s ago: 1 job refused: 23505: twin", told(database, 1, MANAGED))


def test_after_a_start_of_the_database_and_in_a_mass_expiry_it_takes_longer_and_that_is_said(
    database: Database,
) -> None:
    create_field_table(database)
    run(database, "now() - interval '12 s'")
    note_pass(database, SECOND)
    slow = MANAGED.replace('settle = "0s"', 'settle = "300d"\nmass_expiry = { fraction = 0.5, minimum = 3 }')
    seen = as_json(database, 1, slow)["reaper"]
    assert seen["within_seconds"] > 86_400
    assert "for 300d (reaper.settle) nothing is reaped" in told(database, 1, slow)
    assert "mass_expiry" not in told(database, 1, slow)
    for job in (2, 3, 4):
        run(database, "now() - interval '12 s'", job)
    assert "4 leases of its kind have expired (reaper.mass_expiry)" in told(database, 1, slow)
    for job in (5, 6, 7, 8):
        run(database, "now() + interval '1 m'", job)
    assert "mass_expiry" not in told(database, 1, slow)


@pytest.mark.case("R22")
def test_a_requeue_that_must_stay_within_the_last_partition_is_foretold_so(database: Database) -> None:
    columns = (
        FIELD_TABLE.rstrip()
        .removesuffix(")")
        .replace(" PRIMARY KEY", "")
        .replace("run_at timestamptz", "run_at timestamptz NOT NULL")
    )
    database.execute(f"{columns}, PRIMARY KEY (id, run_at)) PARTITION BY RANGE (run_at)")
    end = database.value("SELECT date_trunc('second', now() + interval '5 m')::text")
    database.execute(f"CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM (MINVALUE) TO ('{end}')")
    run(database, "now() - interval '42 s'", attempts=8, cap=20)
    shortest, longest = as_json(database, 1)["reaper"]["delay_seconds"]
    assert 200 < longest < 300
    reap(database)
    delay = database.value("SELECT extract(epoch FROM run_at - now())::float8 FROM jobs WHERE status = 'pending'")
    assert shortest - 20 <= delay <= longest


def test_where_the_table_keeps_no_attempts_the_reap_log_counts_them(database: Database) -> None:
    create_field_table(database)
    run(database, "now() - interval '1 m'", cap=None)
    toml = FIELD.replace('attempts = "attempts"\nmax_attempts = "max_attempts"\n', "") + "max_attempts = 3\n"
    assert "requeues or buries it (attempts are counted in the reap log" in told(database, 1, toml)
    install(database.connect())
    assert "attempt 1 of 3." in told(database, 1, toml)
    for attempt in (1, 2):
        reap(database, toml)
        database.execute("UPDATE jobs SET status = 'running', lease_until = now() - interval '1 m'")
        assert f"attempt {attempt + 1} of 3." in told(database, 1, toml)
    assert "buries it" in told(database, 1, toml)


def test_what_the_reaper_did_before_is_told_the_oldest_first(database: Database) -> None:
    create_field_table(database)
    install(database.connect())
    run(database, "now() - interval '1 m'", owner="first", attempts=1)
    run(database, "now() - interval '1 m'", 11, owner="other", attempts=1)
    assert "In the last 30 days it was not reaped before." in told(database, 1)
    reap(database)
    database.execute("UPDATE jobs SET status = 'running', lease_until = now() - interval '1 m', locked_by = 'second'")
    assert re.search(r"Reaped once before \(\d\d:\d\d:\d\d UTC attempt 1 of first\)\.", told(database, 1))
    database.execute("UPDATE jobs SET attempts = 5 WHERE id = 1")
    database.execute("UPDATE pgq_ops.reap_log SET at = at - interval '2 d'")
    reap(database)
    text = told(database, 1)
    assert re.search(r"Reaped once before \(\d{4}-\d\d-\d\d \d\d:\d\d UTC attempt 1 of first\); buried once", text)
    events = as_json(database, 1)["history"]
    assert [(event["outcome"], event["owner"], event["attempt"]) for event in events] == [
        ("dead_lettered", "second", 5),
        ("requeued", "first", 1),
    ]
