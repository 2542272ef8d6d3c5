"""How leases stand: each row on the right side of its own queue's limits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from pgq_ops.stats import index_support, next_expiries
from tests.support.binding import bind_toml
from tests.support.collecting import collection_of
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database

ROW = "INSERT INTO jobs (queue, status, lease_until, created_at) VALUES ('a', 'running', %s, now() - interval '1 d')"


def _lease(database: Database, end: str | None) -> None:
    """A running job whose lease ends then: an offset to now, or a timestamp."""
    if end is not None and end[0] in "+-" and "infinity" not in end:
        end = str(database.value("SELECT now() + %s::interval", [end]))
    database.execute(ROW, [end])


@pytest.mark.parametrize(
    ("end", "conditions"),
    [
        ("+10 s", {"live": 1}),
        ("-10 s", {"expired": 1}),
        ("-23 h -59 m", {"expired": 1}),
        ("-24 h -1 m", {"stale": 1}),
        (None, {"missing": 1}),
        ("+6 d 23 h", {"live": 1}),
        ("+7 d 1 h", {"live": 1, "future": 1}),
    ],
)
def test_a_lease_is_what_its_end_makes_it(database: Database, end: str | None, conditions: dict[str, int]) -> None:
    create_field_table(database)
    _lease(database, end)
    assert collection_of(database).healthy().leases("a") == conditions


@pytest.mark.case("R8")
def test_infinite_times_neither_crash_a_look_nor_show_as_infinite_ages(database: Database) -> None:
    create_field_table(database)
    for end in ("infinity", "-infinity", "294000-01-01"):
        _lease(database, end)
    database.execute("""
        INSERT INTO jobs (queue, status, run_at, created_at, finished_at) VALUES
            ('a', 'pending', '-infinity', 'infinity', NULL), ('a', 'pending', 'infinity', '-infinity', NULL),
            ('a', 'pending', '-infinity', now() - interval '30 s', NULL), ('a', 'dead', now(), 'infinity', '-infinity'),
            ('b', 'dead', now(), now() - interval '1 m', 'infinity')
    """)
    seen = collection_of(database).healthy()
    assert seen.leases("a") == {"live": 2, "future": 2, "expired": 1}
    assert seen.jobs("a") == {"ready": 2, "scheduled": 1, "running": 3, "dead": 1}
    assert seen.value("oldest_expired_lease_seconds", "a") is None
    assert seen.value("oldest_ready_age_seconds", "a") == pytest.approx(30, abs=30)
    assert seen.value("oldest_dead_age_seconds", "b") == pytest.approx(60, abs=30)
    assert all(math.isfinite(sample.value) for sample in seen.collector.store.samples())


@pytest.mark.case("R7")
def test_a_running_job_without_a_lease_is_missing_and_a_finding(database: Database) -> None:
    create_field_table(database)
    database.execute("""
        INSERT INTO jobs (queue, status, created_at)
        VALUES ('a', 'running', now() - interval '1 m'), ('a', 'running', now() - interval '3 d')
    """)
    seen = collection_of(database).healthy()
    assert seen.leases("a") == {"missing": 2}
    evidence = seen.finding("missing-leases").evidence
    assert (evidence["missing"], evidence["queues"]) == (2, {"a": 2})
    assert len(database.rows(seen.finding("missing-leases").remedy)) == 2
    seen = collection_of(database, FIELD + '[job_tables.jobs.lease]\nmissing_after = "1h"\n').healthy()
    assert "missing-leases" not in seen.finding_ids()


@pytest.mark.case("R13")
def test_each_queue_is_judged_by_its_own_policy(database: Database) -> None:
    create_field_table(database)
    for queue in ("fast", "video", "off"):
        database.execute(
            "INSERT INTO jobs (queue, status, lease_until) VALUES (%(queue)s, 'running', now() - interval '3 h'),"
            " (%(queue)s, 'running', now() - interval '5 h')",
            {"queue": queue},
        )
    toml = FIELD + '[job_tables.jobs.queues]\nvideo.lease.grace = "4h"\noff.reaper.enabled = false\n'
    seen = collection_of(database, toml)
    seen.collect(reaping=False)
    assert seen.leases("fast") == {"expired": 2}
    assert seen.leases("video") == {"live": 1, "expired": 1}
    assert seen.leases("off") == {"expired": 2}
    assert seen.finding("not-reaped").evidence["queues"] == {"fast": 2, "video": 1}


@pytest.mark.case("R19")
def test_stale_leases_are_a_finding_with_the_command_that_takes_them(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (queue, status, lease_until) SELECT 'a', 'running', now() - interval '1 y' FROM generate_series(1, 1200)"
    )
    database.execute(
        "INSERT INTO jobs (queue, status, lease_until) SELECT 'a', 'running', now() - interval '1 m' FROM generate_series(1, 3)"
    )
    seen = collection_of(database).healthy()
    assert seen.leases("a") == {"stale": 1_200, "expired": 3}
    assert seen.value("oldest_expired_lease_seconds", "a") == pytest.approx(60, abs=30)
    finding = seen.finding("stale-leases")
    assert finding.severity == "critical"
    assert finding.evidence["stale"] == 1_200
    assert "pgq-ops reap jobs --include-stale" in finding.remedy.splitlines()


def test_a_lease_kept_alive_for_too_long_is_overlong(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD claimed_at timestamptz")
    database.execute("""
        INSERT INTO jobs (queue, status, lease_until, claimed_at) VALUES
            ('a', 'running', now() + interval '1 m', now() - interval '5 h'),
            ('a', 'running', now() + interval '1 m', now() - interval '3 h'),
            ('a', 'running', now() - interval '1 m', now() - interval '5 h')
    """)
    toml = FIELD.replace('queue = "queue"', 'queue = "queue"\nleased_at = "claimed_at"')
    seen = collection_of(database, toml + '[job_tables.jobs.lease]\nmax_runtime = "4h"\n').healthy()
    assert seen.leases("a") == {"live": 2, "expired": 1, "overlong": 1}
    assert len(database.rows(seen.finding("overlong-leases").remedy)) == 1


def test_the_next_leases_to_end_come_first(database: Database) -> None:
    create_field_table(database)
    for end in ("+30 s", "-5 s", "+10 m", "infinity", "-infinity", None):
        _lease(database, end)
    database.execute("UPDATE jobs SET locked_by = 'w' || id, attempts = id")
    bound = bind_toml(database, FIELD)
    assert index_support.read(bound.connection, bound.table).is_cheap("running")
    found = next_expiries.read(bound.connection, bound.table, limit=2)
    assert [(one.id, one.owner, one.attempts) for one in found] == [("5", "w5", 5), ("2", "w2", 2)]
    assert found[0].seconds_left is None
    assert found[1].seconds_left == pytest.approx(-5, abs=30)
    assert len(next_expiries.read(bound.connection, bound.table, limit=9)) == 4


@pytest.mark.case("R8")
def test_leases_that_have_always_been_over_are_late_at_once_and_of_unknown_age(database: Database) -> None:
    create_field_table(database)
    for _ in range(3):
        _lease(database, "-infinity")
    seen = collection_of(database).healthy()
    assert seen.leases("a") == {"expired": 3}
    assert seen.value("oldest_expired_lease_seconds", "a") is None
    found = seen.finding("expired-leases")
    assert "held by workers that are gone, 3 leases always over (-infinity), and nobody has" in found.summary
    assert (found.evidence["always_over"], found.evidence["oldest_expired_seconds"]) == (3, None)
    database.execute("UPDATE jobs SET lease_until = now() - interval '1 h' WHERE id = 1")
    seen = collection_of(database).healthy()
    assert seen.value("oldest_expired_lease_seconds", "a") == pytest.approx(3600, abs=60)
    found = seen.finding("expired-leases")
    assert "for up to 1h, 2 leases always over" in found.summary.replace("1h1s", "1h")


@pytest.mark.case("R15")
def test_rows_that_a_policy_hides_are_an_error_and_never_a_zero(database: Database, make_role: object) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (queue, status, lease_until) VALUES ('a', 'running', now())")
    assert callable(make_role)
    role = make_role("reader")
    database.execute(f"GRANT SELECT ON jobs TO {role}")
    seen = collection_of(database, role=role).healthy()
    database.execute("ALTER TABLE jobs ENABLE ROW LEVEL SECURITY")
    failed = {failure.probe for failure in seen.collect().failures}
    assert {"jobs", "leases"} <= failed
    assert seen.values("jobs") == {}
    assert seen.value("up") == 0

    database.execute("CREATE POLICY everything ON jobs USING (true)")
    seen = collection_of(database, role=role).healthy()
    assert seen.leases("a") == {"expired": 1}


HEARTBEATS = FIELD.replace('lease_expires_at = "lease_until"', 'heartbeat_at = "lease_until"')


@pytest.mark.parametrize(
    ("beat", "conditions"),
    [
        ("+50 s", {"live": 1}),
        ("+70 s", {"live": 1, "future": 1}),
        ("-50 s", {"live": 1}),
        ("infinity", {"live": 1, "future": 1}),
    ],
)
def test_no_heartbeat_comes_from_the_future(database: Database, beat: str, conditions: dict[str, int]) -> None:
    create_field_table(database)
    _lease(database, beat)
    seen = collection_of(database, HEARTBEATS + '[job_tables.jobs.lease]\ntimeout = "5m"\n').healthy()
    assert seen.leases("a") == conditions
    assert ("future-leases" in seen.finding_ids()) is ("future" in conditions)


def test_of_a_heartbeat_and_a_claim_the_later_must_not_lie_in_the_future_either(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (queue, status, lease_until, run_at) VALUES ('a', 'running', now(), now() + interval '2 m')"
    )
    toml = HEARTBEATS.replace('heartbeat_at = "lease_until"', 'heartbeat_at = "lease_until"\nleased_at = "run_at"')
    seen = collection_of(
        database, toml.replace('available_at = "run_at"\n', "") + '[job_tables.jobs.lease]\ntimeout = "5m"\n'
    )
    assert seen.healthy().leases("a") == {"live": 1, "future": 1}


@pytest.mark.parametrize("toml", [FIELD, HEARTBEATS + '[job_tables.jobs.lease]\ntimeout = "5m"\n'])
def test_leases_of_the_future_are_told_with_the_likely_cause_and_the_key_to_set(database: Database, toml: str) -> None:
    create_field_table(database)
    _lease(database, "+8 d")
    finding = collection_of(database, toml).healthy().finding("future-leases")
    assert "clock" in finding.summary
    assert "database.timezone" in finding.summary
    assert len(database.rows(finding.remedy)) == 1
    assert "database.timezone" in finding.remedy
