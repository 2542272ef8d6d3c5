"""Rows, queues and leaves that cannot be reaped, or not now, keep no others from it: pass after pass all have their turn."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from pgq_ops.db.connection import Limits
from pgq_ops.tasks.reap import Reap
from pgq_ops.tasks.reap_memory import ReapMemory
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table, reap, statuses

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.tasks.reap_result import ReapResult
    from tests.support.database import Database
    from tests.support.roles import Roles

VIDEO = FIELD + "[job_tables.jobs.queues.video]\nreaper.max_attempts = 7\n"
REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN IF new.dedup_key = 'bad' THEN RAISE EXCEPTION 'not this one'; END IF; RETURN new; END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION refuse();
"""
ONE_PENDING = "CREATE UNIQUE INDEX one_pending ON jobs (dedup_key) WHERE status = 'pending'"


def strand(database: Database, number: int, queue: str = "", key: str = "NULL") -> None:
    database.execute(
        "INSERT INTO jobs (status, lease_until, attempts, queue, dedup_key)"
        f" SELECT 'running', now() - interval '1 m', 1, '{queue}', {key} FROM generate_series(1, {number}) AS n"
    )


def at_work(database: Database, number: int) -> None:
    """Jobs whose workers live, so that the expired ones are no mass of them."""
    database.execute(
        "INSERT INTO jobs (status, lease_until, attempts)"
        f" SELECT 'running', now() + interval '1 h', 1 FROM generate_series(1, {number})"
    )


class Passes:
    """An agent's passes, each after the last one's `every`; `batches` is how many a pass has the time to begin."""

    def __init__(self, database: Database, toml: str = FIELD, batches: int = 1_000_000) -> None:
        self.bound = bind_toml(database, toml, limits=Limits(statement_ms=300))
        self.task = Reap(remembers=True)
        self.memory = self.task._memories["jobs"] = ReapMemory()
        self.batches = batches

    def one(self) -> ReapResult:
        self.memory.last_pass.clear()
        asked = count()
        return self.task.run(self.bound.connection, self.bound.table, lambda: next(asked) < self.batches)

    def until(self, reached: Callable[[], bool], most: int) -> int:
        """The passes it takes."""
        for passes in range(1, most + 1):
            self.one()
            if reached():
                return passes
        raise AssertionError(f"not in {most} passes: {self.task.done}")


@pytest.mark.case("R2")
def test_rows_behind_a_thousand_that_are_refused_are_reached_and_the_refused_left_alone(database: Database) -> None:
    create_field_table(database)
    at_work(database, 3_000)
    strand(database, 1_000, key="'bad'")
    strand(database, 5)
    database.execute(REFUSE)
    passes = Passes(database)
    most = [passes.one().conflicts for _ in range(2)]
    assert max(most) <= 100 + 200
    passes.until(lambda: statuses(database).get("pending") == 5, most=10)
    assert passes.one().conflicts == 0


@pytest.mark.case("R13")
def test_a_queue_whose_jobs_are_refused_does_not_use_up_the_time_of_the_others(database: Database) -> None:
    create_field_table(database)
    at_work(database, 3_000)
    strand(database, 500, key="'bad'")
    strand(database, 5, queue="video")
    database.execute(REFUSE)
    Passes(database, VIDEO, batches=10).until(lambda: statuses(database).get("pending") == 5, most=2)


@pytest.mark.case("R11")
def test_a_queue_whose_leases_expire_in_a_mass_holds_no_other_back(database: Database) -> None:
    create_field_table(database)
    strand(database, 1_000)
    strand(database, 5, queue="video")
    result = Passes(database, VIDEO).one()
    assert (result.requeued, result.mass_expired) == (105, 1_000)


def test_a_pass_that_runs_out_of_time_goes_on_where_it_stopped(database: Database) -> None:
    create_field_table(database)
    at_work(database, 3_000)
    strand(database, 60)
    passes = Passes(database, FIELD + "batch_size = 10\n", batches=3)
    taken = [passes.one().requeued for _ in range(3)]
    assert taken == [20, 20, 20]
    assert statuses(database)["pending"] == 60


@pytest.mark.case("R21")
def test_rows_behind_many_that_wait_for_uncommitted_twins_are_reached(database: Database) -> None:
    create_field_table(database)
    database.execute(ONE_PENDING)
    strand(database, 45, key="'k' || n")
    strand(database, 5)
    twins = "INSERT INTO jobs (status, dedup_key) SELECT 'pending', 'k' || n FROM generate_series(1, 45) AS n"
    passes = Passes(database)
    with database.connect(autocommit=False) as stuck:
        stuck.execute(twins)
        assert passes.one().locked == 20
        passes.until(lambda: statuses(database).get("pending") == 5, most=4)
        stuck.rollback()
    passes.memory.clock = lambda: 1e12
    passes.until(lambda: statuses(database) == {"pending": 50}, most=2)


@pytest.mark.case("R21")
def test_a_person_gets_past_all_rows_that_wait_for_uncommitted_twins(database: Database) -> None:
    create_field_table(database)
    database.execute(ONE_PENDING)
    strand(database, 25, key="'k' || n")
    strand(database, 5)
    with database.connect(autocommit=False) as stuck:
        stuck.execute(
            "INSERT INTO jobs (status, dedup_key) SELECT 'pending', 'k' || n FROM generate_series(1, 25) AS n"
        )
        result = reap(database)
        assert (result.requeued, result.locked) == (5, 25)


def test_the_last_of_many_leaves_is_reached_in_one_pass(database: Database) -> None:
    create_field_table(database)
    database.execute("DROP TABLE jobs")
    database.execute("""
        CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY, queue text, status text, attempts int,
            max_attempts int, lease_until timestamptz, locked_by text, run_at timestamptz, created_at date,
            dedup_key text, last_error text, finished_at timestamptz, PRIMARY KEY (id, created_at))
            PARTITION BY RANGE (created_at);
        CREATE INDEX ON jobs (id) WHERE status = 'running';
        DO $$ BEGIN FOR n IN 0..119 LOOP
            EXECUTE format('CREATE TABLE jobs_%s PARTITION OF jobs FOR VALUES FROM (%L) TO (%L)', n,
                           date '2026-01-01' + n, date '2026-01-02' + n);
        END LOOP; END $$;
    """)
    passes = Passes(database, batches=150)
    assert passes.one().outcome == "nothing"
    database.execute("""
        INSERT INTO jobs (status, attempts, lease_until, created_at)
        VALUES ('running', 1, now() - interval '1 m', date '2026-01-01' + 119),
               ('running', 1, now() + interval '1 m', date '2026-01-01' + 1)
    """)
    with database.connect(autocommit=False) as holder:
        holder.execute("LOCK TABLE jobs_7 IN ACCESS EXCLUSIVE MODE")
        result = passes.one()
    assert (result.requeued, result.busy) == (1, ("public.jobs_7",))


@pytest.mark.case("R14")
@pytest.mark.parametrize(
    "body", ["INSERT INTO missing VALUES (1)", "INSERT INTO forbidden VALUES (1)", "PERFORM pg_sleep(9)"]
)
def test_a_trigger_that_is_broken_or_slow_for_one_row_costs_that_row_only(
    database: Database, make_role: Roles, body: str
) -> None:
    create_field_table(database)
    at_work(database, 3_000)
    strand(database, 20)
    strand(database, 1, key="'bad'")
    strand(database, 20)
    role = make_role("reaper", "LOGIN")
    database.execute(f"""
        CREATE TABLE forbidden (number int);
        GRANT SELECT, UPDATE ON jobs TO {role};
        CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF new.dedup_key = 'bad' THEN {body}; END IF; RETURN new; END $$;
        CREATE TRIGGER broken BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION broken();
    """)
    bound = bind_toml(database, FIELD + "batch_size = 10\n", role=role, limits=Limits(statement_ms=300))
    result = Reap(remembers=True).run(bound.connection, bound.table, lambda: True)
    assert (result.requeued, result.conflicts) == (40, 1)


def test_what_is_missing_for_every_row_is_an_error_and_no_conflict(database: Database) -> None:
    create_field_table(database)
    strand(database, 5)
    bound = bind_toml(database, FIELD)
    database.execute("ALTER TABLE jobs RENAME locked_by TO worker")
    with pytest.raises(Exception, match="locked_by"):
        Reap(remembers=True).run(bound.connection, bound.table, lambda: True)
