"""How many jobs there are, and how long the oldest have waited."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.collecting import collection_of
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database

# Beyond what may be read whole, so that each state is looked at through an index.
HISTORY = "INSERT INTO jobs (status) SELECT 'done' FROM generate_series(1, 201000); ANALYZE jobs"
CLAIM_INDEX = "CREATE INDEX jobs_claim ON jobs (run_at, id) WHERE status = 'pending'"


def test_a_small_table_is_counted_exactly_in_every_state(database: Database) -> None:
    database.execute("""
        CREATE TABLE jobs (id int, queue text, status text, lease_until timestamptz, run_at timestamptz,
            attempts int, max_attempts int, locked_by text, created_at timestamptz, finished_at timestamptz,
            last_error text);
        INSERT INTO jobs (queue, status, run_at, finished_at) VALUES
            ('a', 'pending', now() - interval '90 s', NULL), ('a', 'pending', now() + interval '1 h', NULL),
            ('a', 'running', now(), NULL), ('b', 'done', now(), now()), ('b', 'dead', now(), now() - interval '1 h'),
            ('b', 'paused', now(), NULL), ('b', 'pending', NULL, NULL);
    """)
    seen = collection_of(database).healthy()
    assert seen.jobs("a") == {"ready": 1, "scheduled": 1, "running": 1}
    assert seen.jobs("b") == {"ready": 1, "done": 1, "dead": 1, "unknown": 1}
    assert set(seen.values("jobs_exact").values()) == {1.0}
    assert seen.value("oldest_ready_age_seconds", "a") == pytest.approx(90, abs=30)
    assert seen.value("oldest_dead_age_seconds", "b") == pytest.approx(3600, abs=30)
    assert seen.value("oldest_dead_age_seconds", "a") == 0
    assert seen.finding("unknown-states").evidence["unknown"] == 1


@pytest.mark.case("M3")
@pytest.mark.parametrize("history", ["", HISTORY])
def test_jobs_that_are_not_due_yet_do_not_count_as_waiting(database: Database, history: str) -> None:
    create_field_table(database)
    database.execute(CLAIM_INDEX)
    database.execute("""
        INSERT INTO jobs (queue, status, attempts, run_at, created_at) VALUES
            ('a', 'pending', 0, now() + interval '10 h', now() - interval '2 d'),
            ('a', 'pending', 3, now() + interval '40 s', now() - interval '1 d')
    """)
    if history:
        database.execute(history)
    seen = collection_of(database).healthy()
    assert seen.jobs("a") == {"scheduled": 2}
    assert seen.value("oldest_ready_age_seconds", "a") == 0
    assert seen.value("oldest_ready_exact", "a") == 1


def test_a_large_table_is_counted_through_its_indexes_and_only_done_is_estimated(database: Database) -> None:
    create_field_table(database)
    database.execute(HISTORY)
    database.execute(CLAIM_INDEX)
    database.execute("""
        INSERT INTO jobs (queue, status, run_at) SELECT 'a', 'pending', now() - interval '1 m' FROM generate_series(1, 7);
        INSERT INTO jobs (queue, status, run_at) SELECT 'b', 'running', now() FROM generate_series(1, 5);
    """)
    database.execute("VACUUM ANALYZE jobs")
    seen = collection_of(database).healthy()
    assert seen.jobs("a") == {"ready": 7}
    assert seen.jobs("b") == {"running": 5}
    assert seen.value("jobs_exact", "ready", queue="a") == 1
    # No index leads to the dead ones, so there is one estimate for all queues.
    assert seen.value("jobs", "dead", queue="a") is None
    assert set(seen.jobs("(all)")) <= {"done", "dead"}
    assert seen.value("jobs", "done", queue="(all)") == pytest.approx(201_000, rel=0.1)
    assert set(seen.values("jobs_exact", queue="(all)").values()) == {0.0}


def test_without_any_index_a_large_table_gives_one_estimate_for_all_queues(database: Database) -> None:
    create_field_table(database)
    database.execute("DROP INDEX jobs_running")
    database.execute(HISTORY)
    database.execute("INSERT INTO jobs (queue, status) SELECT 'a', 'pending' FROM generate_series(1, 50000)")
    database.execute("VACUUM ANALYZE jobs")
    seen = collection_of(database).healthy()
    assert seen.values("jobs", queue="a") == {}
    assert seen.value("oldest_ready_age_seconds", "a") is None
    assert seen.values("leases") == {}
    estimates = seen.jobs("(all)")
    assert estimates["ready"] + estimates.get("scheduled", 0) == pytest.approx(50_000, rel=0.3)
    assert set(seen.values("jobs_exact").values()) == {0.0}


@pytest.mark.parametrize(("waiting", "exact"), [(10_000, 1), (10_001, 0)])
def test_beyond_ten_thousand_ready_jobs_the_number_is_an_estimate(database: Database, waiting: int, exact: int) -> None:
    create_field_table(database)
    database.execute(HISTORY)
    database.execute(CLAIM_INDEX)
    database.execute(
        "INSERT INTO jobs (queue, status, run_at)"
        " SELECT CASE WHEN i %% 4 = 0 THEN 'a' ELSE 'b' END, 'pending', now() - make_interval(secs => i)"
        " FROM generate_series(1, %s) AS i",
        [waiting],
    )
    database.execute("VACUUM ANALYZE jobs")
    seen = collection_of(database).healthy()
    assert seen.value("jobs_exact", "ready", queue="a") == exact
    assert seen.value("jobs", "ready", queue="a") == pytest.approx(waiting / 4, rel=0.15)
    assert seen.value("jobs", "ready", queue="b") == pytest.approx(waiting * 3 / 4, rel=0.15)
    assert seen.value("oldest_ready_age_seconds", "a") == pytest.approx(waiting, abs=60)


def test_a_backlog_is_estimated_from_the_claim_index(database: Database) -> None:
    create_field_table(database)
    database.execute(HISTORY)
    database.execute("INSERT INTO jobs (queue, status) SELECT 'a', 'pending' FROM generate_series(1, 60000)")
    database.execute(CLAIM_INDEX)
    database.execute("VACUUM ANALYZE jobs")
    seen = collection_of(database).healthy()
    assert seen.value("jobs", "ready", queue="a") == pytest.approx(60_000, rel=0.15)


def test_a_queue_behind_another_ones_backlog_has_a_bounded_age(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ALTER run_at SET NOT NULL")
    database.execute(HISTORY)
    database.execute(CLAIM_INDEX)
    database.execute("INSERT INTO jobs (queue, status, run_at) VALUES ('b', 'pending', now() - interval '10 m')")
    seen = collection_of(database).healthy()
    assert seen.value("oldest_ready_exact", "b") == 1
    database.execute(
        "INSERT INTO jobs (queue, status, run_at) SELECT 'a', 'pending', now() - interval '2 h' FROM generate_series(1, 11000)"
    )
    seen.healthy()
    assert seen.value("oldest_ready_exact", "a") == 1
    assert seen.value("oldest_ready_exact", "b") == 0
    # What is known of b: nothing that was left out is older than the last row that was read.
    assert seen.value("oldest_ready_age_seconds", "b") == pytest.approx(7_200, abs=60)


def test_the_backlog_of_scheduled_jobs_leaves_the_ready_ones_exact(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ALTER run_at SET NOT NULL")
    database.execute(HISTORY)
    database.execute(CLAIM_INDEX)
    database.execute("""
        INSERT INTO jobs (queue, status, run_at) SELECT 'a', 'pending', now() - interval '5 s' FROM generate_series(1, 3);
        INSERT INTO jobs (queue, status, run_at) SELECT 'a', 'pending', now() + interval '1 d' FROM generate_series(1, 20000);
    """)
    database.execute("VACUUM ANALYZE jobs")
    seen = collection_of(database).healthy()
    assert seen.value("jobs", "ready", queue="a") == 3
    assert seen.value("jobs_exact", "ready", queue="a") == 1
    assert seen.value("jobs", "scheduled", queue="a") == pytest.approx(20_000, rel=0.05)
    assert seen.value("jobs_exact", "scheduled", queue="a") == 0


@pytest.mark.case("M4")
def test_a_queue_that_drains_exports_zeros(database: Database) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (queue, status, run_at) VALUES ('a', 'pending', now() - interval '1 m')")
    database.execute("INSERT INTO jobs (queue, status, lease_until) VALUES ('a', 'running', now() - interval '1 m')")
    seen = collection_of(database).healthy()
    assert seen.jobs("a") == {"ready": 1, "running": 1}
    assert seen.leases("a") == {"expired": 1}
    database.execute("DELETE FROM jobs")
    seen.healthy()
    assert seen.values("jobs", queue="a") == dict.fromkeys(seen.values("jobs", queue="a"), 0)
    assert {("ready",), ("scheduled",), ("running",), ("done",), ("dead",)} <= set(seen.values("jobs", queue="a"))
    assert seen.value("oldest_ready_age_seconds", "a") == 0
    assert seen.values("leases", queue="a") == dict.fromkeys(seen.values("leases", queue="a"), 0)
    assert seen.value("oldest_expired_lease_seconds", "a") == 0


def test_dead_jobs_are_counted_in_the_dead_letter_table_too(database: Database) -> None:
    create_field_table(database)
    database.execute("CREATE TABLE buried (LIKE jobs)")
    database.execute("""
        INSERT INTO jobs (queue, status, finished_at) VALUES ('a', 'dead', now() - interval '1 m');
        INSERT INTO buried (id, queue, status, finished_at)
            VALUES (7, 'a', 'dead', now() - interval '1 h'), (8, 'b', 'dead', now() - interval '2 h');
    """)
    seen = collection_of(database, FIELD + '\ndead_letter_table = "buried"\n').healthy()
    assert seen.value("jobs", "dead", queue="a") == 2
    assert seen.value("jobs", "dead", queue="b") == 1
    assert seen.value("oldest_dead_age_seconds", "a") == pytest.approx(3_600, abs=60)


def test_a_table_without_a_queue_column_is_the_queue_default_even_when_it_is_empty(database: Database) -> None:
    create_field_table(database)
    toml = "\n".join(line for line in FIELD.splitlines() if not line.startswith("queue"))
    seen = collection_of(database, toml).healthy()
    assert seen.value("jobs", "ready", queue="default") == 0
    assert seen.value("slo_oldest_ready_seconds", "default") == 300


def test_finished_jobs_are_counted_once_through_an_index_and_absent_without_one(database: Database) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (queue, status, finished_at) VALUES ('a', 'done', now() - interval '1 h')")
    seen = collection_of(database).healthy()
    assert seen.values("finished_jobs_total") == {}
    database.execute("CREATE INDEX ON jobs (finished_at)")
    seen.healthy().healthy()
    assert seen.value("finished_jobs_total", "done", queue="a") == 0
    memory = seen.collector._tables["jobs"].memory
    assert memory.finished_until is not None
    memory.finished_until -= 60
    database.execute("""
        INSERT INTO jobs (queue, status, finished_at) VALUES ('a', 'done', now() - interval '20 s'),
            ('a', 'done', now() - interval '10 s'), ('a', 'dead', now() - interval '10 s'),
            ('a', 'done', now() - interval '2 m'), ('a', 'done', now() + interval '1 m')
    """)
    seen.healthy().healthy()
    assert seen.value("finished_jobs_total", "done", queue="a") == 2
    assert seen.value("finished_jobs_total", "dead", queue="a") == 1
