"""One VACUUM of ours: what it does to the table, and whether what it says of itself is true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.tasks.upkeep.ending import VacuumFate
from pgq_ops.tasks.upkeep.order import Order
from pgq_ops.tasks.upkeep.run import Terms, run
from pgq_ops.tasks.upkeep.yielding import NoWatch
from tests.support.agent import wait_until
from tests.support.table_health import COLUMNS, told, vacuum, write
from tests.support.upkeep import maintenance, meanwhile, relation, table_of, vacuumed

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles


@pytest.fixture
def jobs(database: Database) -> Database:
    """A job table with 2,000 rows, of which 1,500 are dead, and the statistics know."""
    database.execute(f"CREATE TABLE jobs ({COLUMNS}, PRIMARY KEY (id))")
    write(database, "INSERT INTO jobs SELECT n, 'pending', now() FROM generate_series(1, 2000) AS n")
    write(database, "DELETE FROM jobs WHERE id <= 1500")
    told(database, 3_500)
    return database


def counts(database: Database) -> tuple[int, int]:
    return database.rows(
        "SELECT pg_stat_get_vacuum_count('jobs'::regclass), pg_stat_get_analyze_count('jobs'::regclass)"
    )[0]


def test_it_removes_dead_rows_and_says_how_many(jobs: Database) -> None:
    end = vacuumed(jobs, Order(relation(jobs)))
    assert end.fate is VacuumFate.OK
    assert (end.removed_rows, end.left_rows) == (1_500, 0)
    assert counts(jobs) == (1, 0)
    assert "1,500 dead rows removed" in str(end)


def test_it_shortens_no_table_for_which_it_would_have_to_lock_out_everybody(jobs: Database) -> None:
    write(jobs, "DELETE FROM jobs")
    before = jobs.value("SELECT pg_relation_size('jobs')")
    assert vacuumed(jobs, Order(relation(jobs))).fate is VacuumFate.OK
    assert jobs.value("SELECT pg_relation_size('jobs')") == before > 0


def test_it_cleans_the_indexes_of_a_large_table_with_few_dead_rows(jobs: Database) -> None:
    """Below 2 % of the pages VACUUM leaves index entries alone unless it is told otherwise."""
    jobs.execute("INSERT INTO jobs SELECT n, 'done', now() FROM generate_series(10001, 60000) AS n")
    jobs.execute("VACUUM (INDEX_CLEANUP on) jobs")
    write(jobs, "DELETE FROM jobs WHERE id BETWEEN 20001 AND 20020")
    told(jobs, 3_500 + 50_000 + 20)
    with jobs.connect() as other:
        said: list[str] = []
        other.add_notice_handler(lambda notice: said.append(str(notice.message_primary)))
        order = Order(relation(jobs)).statement(jobs.server.major * 10_000).as_string(None)
        other.execute(order.replace("SKIP_LOCKED", "SKIP_LOCKED, VERBOSE").encode())
    scanned = "index scan needed" if jobs.server.major >= 15 else 'scanned index "jobs_pkey" to remove 20 row versions'
    assert [one for one in said if scanned in one], said


def test_a_lock_in_the_way_is_busy_and_is_not_waited_for(jobs: Database) -> None:
    with jobs.connect(autocommit=False) as other:
        other.execute("LOCK TABLE jobs IN SHARE UPDATE EXCLUSIVE MODE")
        end = vacuumed(jobs, Order(relation(jobs)))
        assert end.fate is VacuumFate.BUSY
        assert end.seconds < 1
        other.rollback()
    assert counts(jobs) == (0, 0)


def test_rows_that_somebody_may_still_see_make_it_useless(jobs: Database) -> None:
    with jobs.connect(autocommit=False) as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT 1")
        write(jobs, "UPDATE jobs SET attempts = 1, status = 'x'")
        write(jobs, "UPDATE jobs SET attempts = 2, status = 'y'")
        write(jobs, "UPDATE jobs SET attempts = 3, status = 'z'")
        told(jobs, 3_500 + 1_500)
        vacuum(jobs, "VACUUM jobs")
        end = vacuumed(jobs, Order(relation(jobs)))
        other.rollback()
    assert end.fate is VacuumFate.USELESS
    assert (end.removed_rows, end.left_rows) == (0, 1_500)


def test_rows_that_died_while_it_was_at_work_are_no_proof_of_that(jobs: Database) -> None:
    with jobs.connect(autocommit=False) as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT 1")
        for number in range(3):
            write(jobs, f"UPDATE jobs SET attempts = {number}, status = 'x{number}'")
        told(jobs, 3_500 + 1_500)
        vacuum(jobs, "VACUUM jobs")
        end = vacuumed(jobs, Order(relation(jobs)), Terms(dying=1e6))
        other.rollback()
    assert end.fate is VacuumFate.OK


def test_a_role_that_may_not_is_told_what_would_permit_it(jobs: Database, make_role: Roles) -> None:
    role = make_role("vacuumer")
    jobs.execute(f'GRANT SELECT ON jobs TO "{role}"')
    end = vacuumed(jobs, Order(relation(jobs)), role=role)
    assert end.fate is VacuumFate.NOT_PERMITTED
    assert counts(jobs) == (0, 0)
    jobs.execute(end.grant)
    assert vacuumed(jobs, Order(relation(jobs)), role=role).fate is VacuumFate.OK
    assert counts(jobs) == (1, 0)


def test_it_is_run_as_the_owner_where_that_alone_permits_it(jobs: Database, make_role: Roles) -> None:
    owner, role = make_role("owner", "NOLOGIN"), make_role("vacuumer")
    option = " WITH INHERIT FALSE, SET TRUE" if jobs.server.major >= 16 else ""
    jobs.execute(f'GRANT "{owner}" TO "{role}"{option}; ALTER TABLE jobs OWNER TO "{owner}"')
    jobs.execute(f'GRANT CREATE, USAGE ON SCHEMA public TO "{owner}"')
    if not option:
        jobs.execute(f'ALTER ROLE "{role}" NOINHERIT')
    assert vacuumed(jobs, Order(relation(jobs)), role=role).fate is VacuumFate.NOT_PERMITTED
    assert (
        vacuumed(jobs, Order(relation(jobs)), Terms(owner_role="no such role"), role).fate is VacuumFate.NOT_PERMITTED
    )
    connection = maintenance(jobs, role)
    end = run(connection, table_of(jobs), Order(relation(jobs)), Terms(owner_role=owner), NoWatch())
    assert end.fate is VacuumFate.OK
    assert connection.execute("SELECT current_user::text").fetchall() == [(role,)], "it is itself again"


def test_a_table_that_is_gone_is_nothing(jobs: Database) -> None:
    gone = relation(jobs)
    jobs.execute("ALTER TABLE jobs RENAME TO other; CREATE TABLE jobs (LIKE other INCLUDING ALL)")
    table = table_of(jobs)
    assert table.relation != gone
    assert vacuumed(jobs, Order(gone)).fate is VacuumFate.NOTHING


def test_one_that_is_not_done_in_time_is_unfinished(jobs: Database) -> None:
    jobs.execute("INSERT INTO jobs SELECT n, 'done', now() FROM generate_series(10001, 200000) AS n")
    end = vacuumed(jobs, Order(relation(jobs), freeze=True), Terms(seconds=0.01))
    assert end.fate is VacuumFate.UNFINISHED
    assert counts(jobs) == (0, 0)


def test_somebody_who_cancels_it_is_heard(jobs: Database) -> None:
    jobs.execute("INSERT INTO jobs SELECT n, 'done', now() FROM generate_series(10001, 400000) AS n")
    running = "SELECT pid FROM pg_stat_progress_vacuum WHERE datname = current_database()"
    with meanwhile(vacuumed, jobs, Order(relation(jobs), freeze=True)) as ended:
        wait_until(lambda: jobs.rows(running), what="it runs")
        jobs.execute(f"SELECT pg_cancel_backend(pid) FROM ({running}) AS ours")
    [end] = ended
    assert end.fate is VacuumFate.CANCELLED
    assert end.reason == "somebody cancelled it"


def test_the_session_is_bounded_as_before_afterwards(jobs: Database) -> None:
    connection = maintenance(jobs)
    bounds = "SELECT current_setting('statement_timeout'), current_setting('lock_timeout')"
    before = connection.execute(bounds).fetchall()
    assert run(connection, table_of(jobs), Order(relation(jobs)), Terms(seconds=7), NoWatch()).fate is VacuumFate.OK
    assert connection.execute(bounds).fetchall() == before == [("30s", "100ms")]


def test_a_partitioned_table_is_analyzed(database: Database) -> None:
    database.execute(f"CREATE TABLE jobs ({COLUMNS}) PARTITION BY HASH (id)")
    database.execute("CREATE TABLE jobs_0 PARTITION OF jobs FOR VALUES WITH (MODULUS 1, REMAINDER 0)")
    database.execute("INSERT INTO jobs SELECT n, 'pending', now() FROM generate_series(1, 100) AS n")
    end = vacuumed(database, Order(relation(database), parent=True))
    assert end.fate is VacuumFate.OK
    assert database.value("SELECT count(*) FROM pg_stats WHERE tablename = 'jobs' AND inherited") > 0
    leaf = database.value("SELECT pg_stat_get_analyze_count('jobs_0'::regclass)")
    assert leaf == (0 if database.server.major >= 18 else 1), "before 18 there is no ONLY"
