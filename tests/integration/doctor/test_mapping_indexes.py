"""Whether the indexes fit what workers and the reaper ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.production import claim_index, reaping_index
from pgq_ops.checks.production.examination import Examination
from tests.support.article_tables import LEASE_TABLE, STARTED_AT_TABLE
from tests.support.binding import LEASE
from tests.support.doctor_points import doctor
from tests.support.jobs import FIELD, FIELD_TABLE

if TYPE_CHECKING:
    from tests.support.database import Database

STARTED_AT = '[job_tables.jobs]\ntable = "jobs"\npreset = "started-at"\n'
# More pages than may be read at a look.
MANY = """
ALTER TABLE jobs SET (fillfactor = 10);
INSERT INTO jobs (status) SELECT 'done' FROM generate_series(1, 65000);
ANALYZE jobs
"""


@pytest.fixture
def jobs(database: Database) -> Database:
    database.execute(f"{FIELD_TABLE}; ALTER TABLE jobs ALTER run_at SET NOT NULL")
    return database


@pytest.mark.parametrize(
    "index",
    [
        "jobs (run_at, id) WHERE status = 'pending'",
        "jobs (run_at) WHERE status = 'pending'",
        "jobs (status, run_at, id)",
        "jobs (run_at, id) WHERE status IN ('pending', 'running')",
    ],
)
def test_an_index_that_gives_pending_jobs_in_the_claim_s_order_fits(jobs: Database, index: str) -> None:
    jobs.execute(f"CREATE INDEX fitting ON {index}")
    assert "fitting" in doctor(jobs).passed(claim_index)
    jobs.execute("INSERT INTO jobs (status) SELECT 'pending' FROM generate_series(1, 500); ANALYZE jobs")
    assert "fitting" in doctor(jobs).passed(claim_index)


@pytest.mark.parametrize(
    ("index", "key", "words"),
    [
        ("jobs (run_at, id)", "past_other_states", "reads through jobs in other states"),
        ("jobs (id) WHERE status = 'pending'", "sorts", "sorts all that are due"),
        ("jobs (status)", "sorts", "sorts all that are due"),
    ],
)
def test_an_index_that_makes_a_claim_sort_or_read_past_finished_jobs_does_not(
    jobs: Database, index: str, key: str, words: str
) -> None:
    jobs.execute(f"CREATE INDEX unfitting ON {index}")
    found = doctor(jobs).finding(claim_index)
    assert found.evidence[key] is True
    assert words in found.summary
    assert found.severity == "info"
    jobs.execute(found.remedy)
    assert doctor(jobs).passed(claim_index)


def test_an_unfit_index_of_a_long_history_is_a_warning(jobs: Database) -> None:
    jobs.execute(f"CREATE INDEX unfitting ON jobs (run_at, id); {MANY}")
    assert doctor(jobs).finding(claim_index).severity == "warning"


def test_where_no_index_leads_to_pending_jobs_each_claim_reads_the_table(jobs: Database) -> None:
    found = doctor(jobs).finding(claim_index)
    assert "each one reads a whole table" in found.summary
    jobs.execute(found.remedy)
    assert doctor(jobs).passed(claim_index)


def test_the_order_is_the_configured_one(jobs: Database) -> None:
    jobs.execute("CREATE INDEX by_time ON jobs (run_at, id) WHERE status = 'pending'")
    toml = f'{FIELD}[job_tables.jobs.claim]\norder = ["attempts desc", "run_at"]\n'
    found = doctor(jobs, toml).finding(claim_index)
    jobs.execute(found.remedy)
    assert doctor(jobs, toml).passed(claim_index)


def test_both_articles_indexes_fit_their_claims(database: Database) -> None:
    database.execute(LEASE_TABLE)
    database.execute(STARTED_AT_TABLE)
    assert doctor(database, LEASE).passed(claim_index)
    assert doctor(database, STARTED_AT).passed(claim_index)
    assert doctor(database, LEASE).passed(reaping_index) == "demo_queue_jobs_running"


def test_a_leaf_without_the_index_is_noticed(database: Database) -> None:
    database.execute("""
        CREATE TABLE jobs (id bigint, status text, run_at timestamptz NOT NULL, lease_until timestamptz, locked_by text, attempts int,
            max_attempts int, queue text, created_at timestamptz, finished_at timestamptz, last_error text)
            PARTITION BY RANGE (id);
        CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM (1) TO (100);
        CREATE TABLE jobs_2 PARTITION OF jobs FOR VALUES FROM (100) TO (200);
        CREATE INDEX ON jobs_1 (run_at, id) WHERE status = 'pending';
        CREATE INDEX ON jobs_2 (run_at, id)
    """)
    toml = f'{FIELD}[job_tables.jobs.claim]\norder = ["run_at", "id"]\n'
    assert doctor(database, toml).finding(claim_index).evidence["past_other_states"] is True
    database.execute("CREATE INDEX ON jobs_2 (run_at, id) WHERE status = 'pending'")
    assert doctor(database, toml).passed(claim_index)


def test_without_an_index_to_the_running_jobs_reaping_reads_the_table(jobs: Database) -> None:
    found = doctor(jobs).finding(reaping_index)
    assert found.severity == "info"
    jobs.execute(found.remedy)
    assert doctor(jobs).passed(reaping_index) == "jobs_pgq_ops_running"


def test_where_the_planner_could_not_be_asked_nothing_is_said_of_reaping(jobs: Database) -> None:
    one = doctor(jobs).examination
    nothing_read = type(one.look)(one.table)
    verdict = reaping_index.check(Examination(one.connection, one.table, one.config, nothing_read))
    assert verdict.outcome == "unknown"
