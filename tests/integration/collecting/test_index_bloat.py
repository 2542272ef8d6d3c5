"""Indexes of the claim that are far larger than what they hold: real ones, with the limit lowered to what a test makes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.production import claim_index_size
from pgq_ops.probes.claim import Claim
from pgq_ops.probes.index_bloat import IndexBloat
from pgq_ops.probes.indexes import Indexes
from pgq_ops.probes.table import Table
from pgq_ops.stats import index_bloat, index_sizes
from pgq_ops.stats.index_peaks import WATCHED_SECONDS
from tests.support.agent import wait_until
from tests.support.collecting import Collection, collection_of
from tests.support.doctor_points import doctor
from tests.support.jobs import SMALL
from tests.support.table_health import COLUMNS, told, vacuum

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

ROWS, WRITTEN = 20_000, 39_000
# 20,000 entries of a time and an id have about 80 pages.
LEAST_PAGES = 40
DEAD = "SELECT sum(pg_stat_get_dead_tuples(oid)) FROM pg_class WHERE relname LIKE 'jobs_%' AND relkind = 'r'"


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_sizes, "LEAST_BYTES", LEAST_PAGES * 8_192)


@pytest.fixture
def jobs(database: Database) -> Database:
    """A table whose pending index held 20,000 jobs, all of which are done by now but a twentieth, spread over it."""
    database.execute(f"""
        CREATE TABLE jobs ({COLUMNS}) WITH (autovacuum_enabled = off);
        CREATE INDEX jobs_pending ON jobs (run_at, id) WHERE status = 'pending';
        CREATE INDEX jobs_other ON jobs (id, run_at);
        INSERT INTO jobs SELECT i, 'pending', now() - make_interval(secs => i) FROM generate_series(1, {ROWS}) AS i;
        UPDATE jobs SET status = 'done' WHERE id % 20 > 0
    """)
    vacuumed(database, WRITTEN)
    return database


def vacuumed(database: Database, changes: int) -> None:
    """Vacuum once the statistics have so many rows written in all, and wait until they know of it."""
    told(database, changes)
    vacuum(database, "VACUUM (INDEX_CLEANUP on) jobs")
    vacuum(database, "ANALYZE jobs")


def probe(database: Database, *, role: str | None = None) -> Collection:
    """Collections of what the look at indexes goes by; the second one is a day after the first."""
    seen = collection_of(database, SMALL, role=role)
    seen.collector.probes = (Indexes(), Table(), Claim(), IndexBloat())
    seen.collector.database_probes = ()
    seen.healthy()
    assert seen.finding_ids() & {"index-bloat"} == set()
    seen.clock.seconds += WATCHED_SECONDS
    return seen


def found(seen: Collection) -> set[str]:
    return seen.healthy().finding_ids() & {"index-bloat"}


def test_the_claim_s_index_is_found_and_the_remedy_makes_it_small(jobs: Database) -> None:
    seen = probe(jobs)
    assert found(seen)
    finding = seen.finding("index-bloat")
    assert str(finding.severity) == "info"
    pages = jobs.value("SELECT relpages FROM pg_class WHERE relname = 'jobs_pending'")
    assert finding.evidence["bytes"] == {"public.jobs_pending": pages * 8_192}
    assert finding.evidence["entries"] == {"public.jobs_pending": ROWS // 20}
    assert finding.evidence["measured"] == {"public.jobs_pending": False}
    assert "public.jobs_pending, by which jobs are claimed, has" in finding.summary
    assert finding.remedy == 'REINDEX INDEX CONCURRENTLY "public"."jobs_pending";'
    needed = finding.evidence["needed_bytes"]["public.jobs_pending"]
    jobs.execute(finding.remedy)
    seen.clock.seconds += 3_600
    assert not found(seen)
    assert needed == pytest.approx(jobs.value("SELECT pg_relation_size('jobs_pending')"), rel=0.15)


def test_the_look_is_made_each_hour_and_stands_until_the_next(jobs: Database) -> None:
    seen = probe(jobs)
    assert found(seen)
    jobs.execute("REINDEX INDEX jobs_pending")
    seen.clock.seconds += 3_600 - 600 - 1  # each collection of a test comes ten minutes later
    assert found(seen)
    seen.clock.seconds -= 599
    assert not found(seen)


def test_an_index_that_holds_what_it_is_made_for_is_none(jobs: Database) -> None:
    jobs.execute("UPDATE jobs SET status = 'pending'; REINDEX TABLE jobs")
    vacuumed(jobs, WRITTEN + 20_000)
    assert not found(probe(jobs))


def test_a_small_index_is_none(jobs: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    size = jobs.value("SELECT pg_relation_size('jobs_pending')")
    monkeypatch.setattr(index_sizes, "LEAST_BYTES", size + 1)
    assert not found(probe(jobs))
    monkeypatch.setattr(index_sizes, "LEAST_BYTES", size)
    assert found(probe(jobs))


def test_where_pgstattuple_is_there_its_word_counts(jobs: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs.execute('CREATE SCHEMA "Ext"; CREATE EXTENSION pgstattuple SCHEMA "Ext"')
    seen = probe(jobs)
    assert found(seen)
    finding = seen.finding("index-bloat")
    assert str(finding.severity) == "warning"
    assert finding.evidence["measured"] == {"public.jobs_pending": True}
    # The catalog is wrong now: the index is full again, and nobody has counted since.
    jobs.execute(f"""
        INSERT INTO jobs SELECT {ROWS} + i, 'pending', run_at FROM jobs, generate_series(1, 18) AS i WHERE id % 20 = 0
    """)
    seen.clock.seconds += 3_600
    assert not found(seen)
    monkeypatch.setattr(index_bloat, "_CHEAP_PAGES", LEAST_PAGES)
    seen.clock.seconds += 3_600
    assert found(seen)
    assert str(seen.finding("index-bloat").severity) == "info"


def test_without_the_right_to_it_the_catalog_tells(jobs: Database, make_role: Roles) -> None:
    jobs.execute("CREATE EXTENSION pgstattuple")
    plain, scanning = make_role("plain", "LOGIN"), make_role("scanning", "LOGIN", member_of=("pg_stat_scan_tables",))
    for role, measured in ((plain, False), (scanning, True)):
        jobs.execute(f"GRANT SELECT ON jobs TO {role}")
        seen = probe(jobs, role=role)
        assert found(seen)
        assert seen.finding("index-bloat").evidence["measured"] == {"public.jobs_pending": measured}


def test_while_the_index_is_locked_the_catalog_tells(jobs: Database) -> None:
    jobs.execute("CREATE EXTENSION pgstattuple")
    seen = probe(jobs)
    seen.collector.probes = (Table(), IndexBloat())
    holder = jobs.connect(autocommit=False)
    holder.execute("REINDEX INDEX jobs_pending")
    assert found(seen)
    assert seen.finding("index-bloat").evidence["measured"] == {"public.jobs_pending": False}
    holder.rollback()


def test_a_column_without_statistics_makes_it_unknown(jobs: Database, make_role: Roles) -> None:
    jobs.execute("UPDATE jobs SET status = 'pending', locked_by = id::text; DROP INDEX jobs_pending")
    jobs.execute("CREATE INDEX jobs_pending ON jobs (run_at, id) INCLUDE (locked_by) WHERE status = 'pending'")
    jobs.execute("UPDATE jobs SET status = 'done' WHERE id % 20 > 0")
    vacuumed(jobs, WRITTEN + 39_000)
    assert found(probe(jobs))
    hidden = make_role("hidden", "LOGIN")
    jobs.execute(f"GRANT SELECT (id, status, run_at, lease_until, attempts) ON jobs TO {hidden}")
    toml = SMALL.replace('owner = "locked_by"\n', "")
    seen = collection_of(jobs, toml, role=hidden)
    seen.collector.probes = (Indexes(), Table(), Claim(), IndexBloat())
    seen.healthy()
    seen.clock.seconds += WATCHED_SECONDS
    assert not found(seen)


def test_of_a_partitioned_table_each_leaf_s_index_is_named(database: Database) -> None:
    database.execute(f"""
        CREATE TABLE jobs ({COLUMNS}) PARTITION BY RANGE (id);
        CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM (0) TO (20000) WITH (autovacuum_enabled = off);
        CREATE TABLE jobs_2 PARTITION OF jobs FOR VALUES FROM (20000) TO (40000) WITH (autovacuum_enabled = off);
        CREATE TABLE jobs_3 PARTITION OF jobs FOR VALUES FROM (40000) TO (60000);
        CREATE INDEX jobs_pending ON jobs (run_at, id) WHERE status = 'pending';
        INSERT INTO jobs SELECT i, 'pending', now() - make_interval(secs => i) FROM generate_series(1, 39999) AS i;
        UPDATE jobs SET status = 'done' WHERE id % 20 > 0
    """)
    vacuumed(database, 39_999 + 38_000)
    wait_until(lambda: database.value(DEAD) == 0, 10, "the statistics know of both vacuums")
    seen = probe(database)
    assert found(seen)
    names = database.rows(
        "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid IN ('jobs_1'::regclass, 'jobs_2'::regclass)"
    )
    assert sorted(seen.finding("index-bloat").remedy.splitlines()) == sorted(
        f'REINDEX INDEX CONCURRENTLY "public"."{name}";' for (name,) in names
    )
    assert "; so is 1 index more" in seen.finding("index-bloat").summary


def test_dead_rows_that_vacuum_may_not_remove_are_no_bloat(jobs: Database) -> None:
    jobs.execute("REINDEX TABLE jobs; UPDATE jobs SET status = 'pending'")
    vacuumed(jobs, WRITTEN + 20_000)
    holder = jobs.connect(autocommit=False)
    holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT FROM jobs")
    jobs.execute("UPDATE jobs SET status = 'done' WHERE id % 20 > 0")
    vacuumed(jobs, WRITTEN + 39_000)
    assert not found(probe(jobs))
    holder.rollback()
    vacuumed(jobs, WRITTEN + 39_000)
    assert found(probe(jobs))


def test_doctor_judges_by_what_the_index_holds_now(jobs: Database) -> None:
    jobs.execute("CREATE EXTENSION pgstattuple")
    finding = doctor(jobs, SMALL).finding(claim_index_size)
    assert str(finding.severity) == "info"
    assert finding.evidence["measured"] == {"public.jobs_pending": True}
    assert f"with what it holds now, which may be more at other hours ({ROWS // 20:,} entries)" in finding.summary
    jobs.execute(finding.remedy)
    assert doctor(jobs, SMALL).passed(claim_index_size).startswith("1 index, 0 of at least")


def test_doctor_says_why_it_cannot_judge(jobs: Database) -> None:
    examined = doctor(jobs, SMALL)
    examined.examination.look = replace(examined.examination.look, health=None)
    assert "could not be read" in examined.unknown(claim_index_size)
    jobs.execute("DROP INDEX jobs_pending")
    assert doctor(jobs, SMALL).not_applicable(claim_index_size) == "no index leads to the pending jobs"
