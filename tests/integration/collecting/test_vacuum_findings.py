"""Dead rows that nobody removes, autovacuum that is off, tables that nobody freezes: by real tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.support.table_health import COLUMNS, health, leaf, probe, told, vacuum, write

if TYPE_CHECKING:
    from tests.support.collecting import Collection
    from tests.support.database import Database

# More than 12,000 dead rows are too many: twice the threshold.
TIGHT = "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 6000"


def _finding_after(seen: Collection, seconds: float) -> bool:
    """Whether `dead-rows` is found so many seconds after the last look."""
    seen.clock.seconds += seconds - 600
    health(seen)
    return "dead-rows" in seen.finding_ids()


def _keep(database: Database) -> psycopg.Connection[tuple[object, ...]]:
    """A session that keeps VACUUM, also autovacuum, from removing what dies from now on."""
    holder = database.connect(autocommit=False, application_name="report")
    holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    holder.execute("SELECT FROM pg_class LIMIT 1")
    return holder


@pytest.mark.case("V4")
def test_three_live_rows_and_forty_dead_ones_are_no_finding_nor_is_an_empty_table(database: Database) -> None:
    database.execute(f"""
        CREATE TABLE jobs ({COLUMNS}) PARTITION BY RANGE (id);
        CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM (0) TO (1000);
        CREATE TABLE jobs_2 PARTITION OF jobs FOR VALUES FROM (1000) TO (2000)
            WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 0);
        CREATE TABLE jobs_3 PARTITION OF jobs FOR VALUES FROM (2000) TO (3000);
    """)
    keeping = _keep(database)
    write(database, "INSERT INTO jobs SELECT i FROM generate_series(1, 43) AS i")
    write(database, "DELETE FROM jobs WHERE id > 3")
    told(database, 83)
    seen = probe(database)
    first, *empty = health(seen).leaves
    assert (first.live_rows, first.dead_rows) == (3, 40)
    assert first.vacuum_threshold == 50
    assert [one.due_ratio for one in empty] == [0, 0]
    assert not _finding_after(seen, 600)
    # Beyond its threshold and far from what a claim feels.
    write(database, "DELETE FROM jobs; INSERT INTO jobs SELECT i FROM generate_series(1, 900) AS i; DELETE FROM jobs")
    told(database, 83 + 3 + 1_800)
    assert health(seen).due_ratio == pytest.approx(943 / 50)
    assert not _finding_after(seen, 600)
    keeping.close()


@pytest.mark.case("V4")
def test_a_million_rows_may_have_a_fifth_of_them_dead_by_the_default_settings(database: Database) -> None:
    database.execute(f"CREATE TABLE jobs ({COLUMNS})")
    write(database, "INSERT INTO jobs SELECT i FROM generate_series(1, 1000000) AS i")
    told(database, 1_000_000)
    vacuum(database)
    keeping = _keep(database)
    write(database, "UPDATE jobs SET attempts = 1 WHERE id <= 200049")
    told(database, 1_200_049)
    seen = probe(database)
    found = leaf(seen)
    assert (found.live_rows, found.dead_rows) == (1_000_000, 200_049)
    assert found.vacuum_threshold == pytest.approx(200_050)
    assert found.due_ratio is not None
    assert found.due_ratio < 1
    assert not _finding_after(seen, 600)
    write(database, "UPDATE jobs SET attempts = 2 WHERE id <= 200053")
    told(database, 1_400_102)
    assert health(seen).dead_rows == 400_102
    assert _finding_after(seen, 600)
    keeping.close()


@pytest.mark.case("V4")
def test_more_than_twice_the_table_s_own_threshold_for_three_visits_is_a_finding(database: Database) -> None:
    database.execute(f"CREATE TABLE jobs ({COLUMNS}) WITH ({TIGHT})")
    keeping = _keep(database)
    write(database, "INSERT INTO jobs SELECT i FROM generate_series(1, 13000) AS i; DELETE FROM jobs WHERE id <= 12000")
    told(database, 25_000)
    seen = probe(database)
    assert leaf(seen).dead_rows == 12_000
    assert not _finding_after(seen, 1_000)
    write(database, "DELETE FROM jobs WHERE id = 12001")
    told(database, 25_001)
    assert not _finding_after(seen, 1_000)
    assert not _finding_after(seen, 179)
    assert _finding_after(seen, 15)
    finding = seen.finding("dead-rows")
    assert finding.severity == "warning"
    assert "12,001 dead rows in public.jobs, 2.0 times what autovacuum waits for" in finding.summary
    assert finding.evidence["dead_rows"] == {"public.jobs": 12_001}
    assert finding.evidence["vacuum_thresholds"] == {"public.jobs": 6_000}
    keeping.close()


def test_what_the_last_vacuum_had_to_leave_is_told_until_one_can_remove_it(database: Database) -> None:
    database.execute(f"CREATE TABLE jobs ({COLUMNS}) WITH ({TIGHT})")
    write(database, "INSERT INTO jobs SELECT i FROM generate_series(1, 15000) AS i")
    keeping = _keep(database)
    write(database, "DELETE FROM jobs WHERE id <= 14000")
    told(database, 29_000)
    seen = probe(database)
    health(seen)
    vacuum(database, "VACUUM jobs")
    found = leaf(seen)
    assert found.outcome is not None
    assert (found.outcome.removed_rows, found.outcome.left_rows) == (0, 14_000)
    finding = seen.finding("dead-rows")
    assert "could not remove at least 14,000 of them" in finding.summary
    assert finding.evidence["left_by_last_vacuum"] == {"public.jobs": 14_000}

    keeping.rollback()
    vacuum(database, "\n".join(line for line in finding.remedy.splitlines() if not line.startswith("--")))
    found = leaf(seen)
    assert found.outcome is not None
    assert (found.dead_rows, found.outcome.removed_rows, found.outcome.left_rows) == (0, 14_000, 0)
    assert "dead-rows" not in seen.finding_ids()


@pytest.mark.case("V1")
def test_autovacuum_that_is_off_on_a_table_or_its_toast_table_alone_is_reported(database: Database) -> None:
    database.execute(f"CREATE TABLE jobs ({COLUMNS}, note text) WITH (fillfactor = 70, toast.autovacuum_enabled = off)")
    seen = probe(database)
    health(seen)
    finding = seen.finding("autovacuum-off")
    assert finding.severity == "warning"
    assert "the TOAST table of public.jobs" in finding.summary
    database.execute(finding.remedy)
    health(seen)
    assert "autovacuum-off" not in seen.finding_ids()
    assert database.value("SELECT reloptions::text FROM pg_class WHERE relname = 'jobs'") == "{fillfactor=70}"

    database.execute("ALTER TABLE jobs SET (autovacuum_enabled = false)")
    write(database, "INSERT INTO jobs SELECT i FROM generate_series(1, 20000) AS i; DELETE FROM jobs")
    told(database, 40_000)
    assert not leaf(seen).toast_autovacuum_enabled
    finding = seen.finding("autovacuum-off")
    assert "off for public.jobs: nobody removes dead rows (20,000 dead rows so far)" in finding.summary
    assert not _finding_after(seen, 600), "one finding tells it"
    database.execute(finding.remedy)
    assert leaf(seen).autovacuum_enabled
    assert "autovacuum-off" not in seen.finding_ids()


def test_the_one_partition_whose_autovacuum_is_off_is_named(database: Database) -> None:
    database.execute(f"""
        CREATE TABLE jobs ({COLUMNS}) PARTITION BY RANGE (id);
        CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM (0) TO (10);
        CREATE TABLE "Jobs 2" PARTITION OF jobs FOR VALUES FROM (10) TO (20) WITH (autovacuum_enabled = off);
    """)
    seen = probe(database)
    health(seen)
    finding = seen.finding("autovacuum-off")
    assert finding.evidence["tables"] == ["public.Jobs 2"]
    assert finding.remedy == 'ALTER TABLE "public"."Jobs 2" RESET (autovacuum_enabled);'
    database.execute(finding.remedy)
    health(seen)
    assert seen.finding_ids() == set()


@pytest.mark.parametrize(("age", "found"), [(250_000_000, False), (250_000_100, True)])
def test_a_table_that_was_not_frozen_in_time_is_a_finding_until_it_is(
    database: Database,
    age: int,
    found: bool,  # noqa: FBT001
) -> None:
    database.execute(f"CREATE TABLE jobs ({COLUMNS})")
    database.execute("INSERT INTO jobs SELECT 1")
    old = "(txid_current() - %s + (1::bigint << 32)) %% (1::bigint << 32)"
    # A few transactions pass until the look.
    database.execute(f"UPDATE pg_class SET relfrozenxid = ({old})::text::xid WHERE relname = 'jobs'", [age - 50])
    seen = probe(database)
    assert leaf(seen).xid_age == pytest.approx(age - 50, abs=49)
    assert ("wraparound" in seen.finding_ids()) is found
    if found:
        finding = seen.finding("wraparound")
        assert finding.severity == "warning"
        database.execute(finding.remedy)
        assert leaf(seen).xid_age < 1_000
        assert "wraparound" not in seen.finding_ids()
