"""Indexes that an interrupted CREATE or REINDEX CONCURRENTLY left, and those that are only being made."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING

import psycopg
import pytest

from pgq_ops.probes.leftover_indexes import LeftoverIndexes
from tests.support.agent import wait_until
from tests.support.collecting import Collection, collection_of
from tests.support.doctor_points import remedies
from tests.support.jobs import SMALL, create_field_table
from tests.support.table_health import COLUMNS

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

INVALID = "SELECT count(*) FROM pg_index WHERE NOT indisvalid AND indexrelid::regclass::text LIKE %s"
WAITS = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"


def probe(database: Database, *, role: str | None = None) -> Collection:
    seen = collection_of(database, SMALL, role=role)
    seen.collector.probes = (LeftoverIndexes(),)
    seen.collector.database_probes = ()
    return seen


def found(seen: Collection) -> set[str]:
    seen.healthy()
    return seen.finding_ids() & {"leftover-index"}


class Working:
    """A session that is at a statement which waits for `holder`, a transaction that has used the table."""

    def __init__(self, database: Database, statement: str, *, holding: str = "SELECT FROM jobs") -> None:
        self.database = database
        self.holder = database.connect(autocommit=False)
        self.holder.execute(holding.encode())
        self.session = database.connect()
        self.pid = self.session.info.backend_pid
        self._thread = Thread(target=self._run, args=(statement,))
        self._thread.start()
        wait_until(lambda: database.value(WAITS, [self.pid]), 10, f"{statement} waits")

    def _run(self, statement: str) -> None:
        try:
            self.session.execute(statement.encode())
        except psycopg.Error as error:
            self.error = error

    def end(self) -> None:
        """Let it come to its end."""
        self.holder.rollback()
        self._thread.join()

    def break_off(self) -> None:
        """End the session in the middle."""
        self.database.execute("SELECT pg_terminate_backend(%s, 5000)", [self.pid])
        self._thread.join()
        self.holder.rollback()


@pytest.fixture
def jobs(database: Database) -> Database:
    create_field_table(database)
    database.execute("INSERT INTO jobs (queue) VALUES ('a'), ('a')")
    return database


def test_an_index_whose_making_failed_is_found_and_each_way_out_works(jobs: Database) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation):
        jobs.execute("CREATE UNIQUE INDEX CONCURRENTLY once ON jobs (queue)")
    seen = probe(jobs)
    assert found(seen)
    finding = seen.finding("leftover-index")
    assert finding.summary == (
        "public.once is left over from a CREATE INDEX CONCURRENTLY that came to no end: no query can use it, and every"
        " write maintains it"
    )
    assert {**finding.evidence, "pages": None} == {
        "indexes": ["public.once"],
        "tables": ["public.jobs"],
        "left": 1,
        "pages": None,
    }
    rebuild, drop = remedies(finding)
    jobs.execute("UPDATE jobs SET queue = id::text")
    jobs.execute(rebuild)
    assert not found(seen)
    jobs.execute(drop)
    assert not found(seen)


@pytest.mark.parametrize(
    ("holding", "left"),
    [("UPDATE jobs SET queue = 'b'", "jobs_pkey_ccnew"), ("SELECT FROM jobs", "jobs_pkey_ccold")],
)
def test_what_reindex_makes_is_none_while_it_works_and_one_once_it_was_broken_off(
    jobs: Database, make_role: Roles, holding: str, left: str
) -> None:
    working = Working(jobs, "REINDEX INDEX CONCURRENTLY jobs_pkey", holding=holding)
    assert jobs.value(INVALID, [left]) == 1
    plain = make_role("plain", "LOGIN")
    jobs.execute(f"GRANT SELECT ON jobs TO {plain}")
    looks = [probe(jobs), probe(jobs, role=plain)]
    assert [found(seen) for seen in looks] == [set(), set()]
    working.break_off()
    for seen in looks:
        assert found(seen)
        finding = seen.finding("leftover-index")
        assert finding.evidence["indexes"] == [f"public.{left}"]
        assert "from a REINDEX CONCURRENTLY that" in finding.summary
        assert finding.remedy == f'DROP INDEX CONCURRENTLY "public"."{left}";'
    jobs.execute(finding.remedy)
    assert [found(seen) for seen in looks] == [set(), set()]


def test_while_a_whole_table_is_reindexed_none_of_its_new_indexes_is_one(jobs: Database) -> None:
    working = Working(jobs, "REINDEX TABLE CONCURRENTLY jobs", holding="UPDATE jobs SET queue = 'b'")
    assert jobs.value(INVALID, ["jobs%_ccnew"]) == 2
    seen = probe(jobs)
    assert not found(seen)
    working.end()
    assert not found(seen)


def test_an_index_that_is_being_made_is_none(jobs: Database) -> None:
    working = Working(jobs, "CREATE INDEX CONCURRENTLY slow ON jobs (queue)", holding="UPDATE jobs SET queue = 'b'")
    assert jobs.value(INVALID, ["slow"]) == 1
    seen = probe(jobs)
    assert not found(seen)
    working.end()
    assert not found(seen)


def test_an_index_that_is_being_dropped_is_none_and_one_whose_dropping_was_broken_off_is(jobs: Database) -> None:
    jobs.execute("CREATE INDEX old ON jobs (queue)")
    working = Working(jobs, "DROP INDEX CONCURRENTLY old")
    assert jobs.value(INVALID, ["old"]) == 1
    seen = probe(jobs)
    assert not found(seen)
    working.break_off()
    assert found(seen)


def test_a_leftover_is_found_while_an_index_on_another_table_is_made_and_told_of_in_the_end(jobs: Database) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation):
        jobs.execute("CREATE UNIQUE INDEX CONCURRENTLY once ON jobs (queue)")
    jobs.execute("CREATE TABLE other (id int)")
    making = Working(jobs, "CREATE INDEX CONCURRENTLY slow ON other (id)", holding="INSERT INTO other VALUES (1)")
    assert found(probe(jobs))
    making.end()
    making = Working(jobs, "CREATE INDEX CONCURRENTLY slower ON jobs (id)", holding="UPDATE jobs SET queue = 'b'")
    assert not found(probe(jobs))
    making.end()
    assert found(probe(jobs))


def test_it_is_found_on_a_partition_whatever_its_name_and_a_parent_that_waits_for_parts_is_not(
    database: Database,
) -> None:
    database.execute(f"""
        CREATE SCHEMA "Ops-Q";
        CREATE TABLE jobs ({COLUMNS}) PARTITION BY RANGE (id);
        CREATE TABLE "Ops-Q"."a %s ""{{}}" PARTITION OF jobs FOR VALUES FROM (0) TO (100);
        CREATE INDEX whole ON jobs (id);
        CREATE INDEX part ON ONLY jobs (status);
        CREATE INDEX mine_ccnew ON jobs (locked_by);
        INSERT INTO jobs (id, status) VALUES (1, 'done'), (2, 'done')
    """)
    seen = probe(database)
    assert not found(seen)
    with pytest.raises(psycopg.errors.UniqueViolation):
        database.execute('CREATE UNIQUE INDEX CONCURRENTLY "b % ""x" ON "Ops-Q"."a %s ""{}" (status)')
    assert found(seen)
    finding = seen.finding("leftover-index")
    assert finding.evidence["indexes"] == ['Ops-Q.b % "x']
    assert finding.evidence["tables"] == ['Ops-Q.a %s "{}']
    *_, drop = remedies(finding)
    database.execute(drop)
    assert not found(seen)


def test_the_look_is_made_each_ten_minutes_and_stands_until_the_next(jobs: Database) -> None:
    seen = probe(jobs)
    assert not found(seen)
    with pytest.raises(psycopg.errors.UniqueViolation):
        jobs.execute("CREATE UNIQUE INDEX CONCURRENTLY once ON jobs (queue)")
    seen.clock.seconds -= 1  # each collection of a test comes ten minutes later
    assert not found(seen)
    seen.clock.seconds -= 599
    assert found(seen)


def test_the_look_waits_for_no_lock_on_the_table(jobs: Database) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation):
        jobs.execute("CREATE UNIQUE INDEX CONCURRENTLY once ON jobs (queue)")
    seen = probe(jobs)
    holder = jobs.connect(autocommit=False)
    holder.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
    assert found(seen)
    holder.rollback()
