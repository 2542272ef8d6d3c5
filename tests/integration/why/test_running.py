"""`why` of a running job: its lease, and what the reaper does with it, compared with what the reaper then does."""

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
from tests.support.article_tables import LEASE_TABLE, STARTED_AT_TABLE
from tests.support.jobs import FIELD, FIELD_TABLE, create_field_table, reap
from tests.support.why import MANAGED, as_json, asked, both, note_pass, told

if TYPE_CHECKING:
    from tests.support.database import Database

RUNNING = (
    "INSERT INTO jobs (id, queue, status, lease_until, locked_by, attempts, max_attempts, created_at)"
    " VALUES (%(id)s, %(queue)s, 'running', {end}, %(owner)s, %(attempts)s, %(cap)s, now() - interval '2 d')"
)
SECOND = timedelta(seconds=1)


def run(database: Database, end: str, job: int = 1, **values: object) -> None:
    """A running job whose lease ends `end` (SQL)."""
    row = {"queue": "mail", "owner": "worker-7", "attempts": 3, "cap": 5, **values}
    database.execute(RUNNING.format(end=end), {"id": job, **row})


ENDS = [
    ("now() + interval '5 m'", "live", r"Running by worker-7; its lease ends in [45]m.* \(.*UTC\), attempt 3 of 5\."),
    ("now() - interval '9 m'", "live", r"; lease expired 9m\d*s? ?ago \(.*\), still within the grace of 10m, attempt"),
    ("now() - interval '11 m'", "expired", r"; lease expired 11m\d*s? ?ago \(.* UTC\), attempt 3 of 5\."),
    ("now() - interval '24 h 9 m'", "expired", r"lease expired 1d9m ago"),
    (
        "now() - interval '24 h 11 m'",
        "stale",
        r"lease expired 1d11m ago(.|\n)*max_expired_age \(1d\)(.|\n)*--include-stale",
    ),
    ("NULL", "missing", r"it has no lease, attempt 3 of 5\.\nWithout a lease nothing takes it back"),
    ("now() + interval '8 d'", "live", r"further ahead than any can"),
    ("'infinity'", "live", r"its lease never ends(.|\n)*As long as its lease does not end, nothing takes it back"),
    ("'-infinity'", "expired", r"its lease has always been over(.|\n)*requeues it"),
]


@pytest.mark.case("R8")
def test_the_lease_is_told_by_its_end(database: Database) -> None:
    create_field_table(database)
    toml = FIELD + '[job_tables.jobs.lease]\ngrace = "10m"\n'
    for job, (end, condition, sentence) in enumerate(ENDS):
        run(database, end, job)
        seen, text = both(database, job, toml)
        assert seen["lease"]["condition"] == condition, end
        assert re.search(sentence, text), text


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


@pytest.mark.case("R13")
def test_each_job_is_told_under_the_policy_of_its_own_queue(database: Database) -> None:
    create_field_table(database)
    for job, queue in enumerate(("fast", "video", "off", None), 1):
        run(database, "now() - interval '3 h'", job, queue=queue)
    toml = FIELD + '[job_tables.jobs.queues]\nvideo.lease.grace = "4h"\noff.reaper.enabled = false\n'
    conditions = [as_json(database, job, toml)["lease"]["condition"] for job in (1, 2, 3, 4)]
    assert conditions == ["expired", "live", "expired", "expired"]
    assert "still within the grace of 4h" in told(database, 2, toml)
    off = told(database, 3, toml)
    assert "Reaping is switched off for queue off (reaper.enabled = false): nothing takes it back" in off
    assert "pgq-ops reap" not in off
    assert as_json(database, 3, toml)["reaper"]["obstacle"] == "switched off"
    assert "pgq-ops reap jobs" in told(database, 4, toml)


@pytest.mark.case("R7")
def test_a_job_without_a_lease_is_taken_back_only_by_its_age(database: Database) -> None:
    create_field_table(database)
    run(database, "NULL")
    assert "(set lease.missing_after)" in told(database, 1)
    late = FIELD + '[job_tables.jobs.lease]\nmissing_after = "47h"\n'
    assert "By hand, this requeues it" in told(database, 1, late)
    early = FIELD + '[job_tables.jobs.lease]\nmissing_after = "49h"\n'
    assert "once the lease is over, this requeues it" in told(database, 1, early)
    assert 3_500 < as_json(database, 1, early)["reaper"]["within_seconds"] < 3_620
    undated = FIELD.replace('created_at = "created_at"\n', "")
    assert "map created_at and set lease.missing_after" in told(database, 1, undated)
    database.execute("UPDATE jobs SET created_at = 'infinity'")
    assert "when it was claimed or created is not known either" in told(database, 1, late)


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


def test_a_heartbeat_tells_when_the_lease_ends_and_how_long_ago_it_came(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD claimed_at bigint")
    run(database, "now() - interval '4 m'")
    database.execute("UPDATE jobs SET claimed_at = extract(epoch FROM now() - interval '5 h') * 1000")
    toml = FIELD.replace('lease_expires_at = "lease_until"', 'heartbeat_at = "lease_until"\nleased_at = "claimed_at"')
    text = told(database, 1, toml + '[job_tables.jobs.lease]\ntimeout = "5m"\nmax_runtime = "4h"\n')
    assert re.search(
        r"by worker-7, claimed 5h\d*s? ?ago \(.*\), last heartbeat 4m\d*s? ?ago \(.*\); its lease ends in", text
    )
    assert "kept alive for longer than lease.max_runtime (4h): the worker may hang" in text
    assert "lease expired 1m" in told(database, 1, toml + '[job_tables.jobs.lease]\ntimeout = "3m"\n')


def test_both_presets_are_told(database: Database) -> None:
    database.execute(LEASE_TABLE)
    database.execute(STARTED_AT_TABLE)
    database.execute("""
        INSERT INTO demo_queue_jobs (status, lease_until, claimed_by, attempts, payload)
        VALUES ('running', now() - interval '1 m', 'w', 1, '{}');
        INSERT INTO jobs (status, started_at, attempts) VALUES ('running', now() - interval '6 m', 2)
    """)
    toml = (
        '[job_tables.emails]\ntable = "demo_queue_jobs"\npreset = "lease"\n'
        '[job_tables.other]\ntable = "jobs"\npreset = "started-at"\n'
    )
    text = told(database, 1, toml)
    assert re.search(r"Running by w; lease expired 1m\d*s? ?ago \(.*\), attempt 1 of 5\.", text)
    assert re.search(r"Running, claimed 6m\d*s? ?ago \(.*\); lease expired 1m\d*s? ?ago \(.*\), attempt 2 of 5\.", text)


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


def test_a_locked_row_is_passed_over_and_the_holder_is_named(database: Database) -> None:
    create_field_table(database)
    run(database, "now() - interval '1 m'")
    holder = database.connect(autocommit=False, application_name="worker 7")
    holder.execute("SELECT FROM jobs FOR UPDATE")
    text = told(database, 1)
    assert (
        f"Its row is locked by session {holder.info.backend_pid} (worker 7, user postgres, idle in transaction" in text
    )
    assert "the reaper passes it over until that ends" in text
    holder.rollback()
    assert "locked" not in told(database, 1)


def test_a_table_that_cannot_be_reaped_says_what_is_missing(database: Database) -> None:
    create_field_table(database)
    run(database, "now() - interval '1 m'")
    toml = FIELD.partition("[job_tables.jobs.reaper]")[0].replace('"run_at"', '{ sql = "run_at" }')
    text = told(database, 1, toml)
    assert (
        "Nothing takes it back, as the table cannot be reaped: job_tables.jobs.columns.available_at: cannot be" in text
    )
    assert as_json(database, 1, toml)["reaper"]["obstacle"] == "problem"


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
