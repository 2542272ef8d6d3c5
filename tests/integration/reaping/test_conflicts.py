"""Rows that the table's own constraints and triggers do not let the reaper write."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from pgq_ops.tasks.reap import Reap
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table, reap, statuses

if TYPE_CHECKING:
    from tests.support.database import Database

EXPIRED = """
INSERT INTO jobs (status, lease_until, locked_by, attempts)
SELECT 'running', now() - interval '1 minute', 'worker-1', 1 FROM generate_series(1, %(n)s)
"""


def prepare(database: Database, number: int = 100) -> None:
    create_field_table(database)
    database.execute(EXPIRED, {"n": number})


@pytest.mark.case("R2")
def test_jobs_with_a_pending_twin_are_isolated_and_the_others_reaped(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    prepare(database)
    database.execute("CREATE UNIQUE INDEX one_pending ON jobs (dedup_key) WHERE status = 'pending'")
    database.execute("INSERT INTO jobs (status, dedup_key) VALUES ('pending', 'a')")
    database.execute("UPDATE jobs SET dedup_key = 'a' WHERE id = 40")
    database.execute("UPDATE jobs SET dedup_key = 'b' WHERE id IN (50, 90)")
    with caplog.at_level(logging.WARNING, "pgq_ops"):
        result = reap(database)
    assert (result.requeued, result.conflicts) == (98, 2)
    assert "one_pending" in result.example
    assert [record.message for record in caplog.records].count("reaper.conflict") == 2
    assert statuses(database) == {"pending": 99, "running": 2}


@pytest.mark.case("R2")
def test_the_agent_tells_of_a_refused_row_once_and_leaves_it_alone_for_a_while(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    prepare(database, 10)
    database.execute("ALTER TABLE jobs ADD CHECK (id <> 3 OR status <> 'pending')")
    bound = bind_toml(database, FIELD)
    task = Reap(remembers=True)
    clock = [1000.0]
    with caplog.at_level(logging.WARNING, "pgq_ops"):
        assert task.run(bound.connection, bound.table, lambda: True).conflicts == 1
        task._memories["jobs"].clock = lambda: clock[0]
        task._memories["jobs"].last_pass.clear()
        seen = []
        for seconds in range(0, 3 * 86_400, 1800):
            clock[0] = 2e9 + seconds
            seen.append(task.run(bound.connection, bound.table, lambda: True).conflicts)
    assert 0 in seen
    assert 1 in seen
    told = [record for record in caplog.records if record.message == "reaper.conflict"]
    assert 3 <= len(told) <= 5


@pytest.mark.case("R3")
def test_attempts_at_the_end_of_their_type_do_not_overflow(database: Database) -> None:
    prepare(database, 50)
    database.execute("ALTER TABLE jobs ALTER attempts TYPE smallint")
    database.execute("UPDATE jobs SET attempts = 32767 WHERE id = 7")
    result = reap(database, FIELD + 'attempts_counted_at = "reap"\n')
    assert (result.requeued, result.dead_lettered, result.conflicts) == (49, 1, 0)
    assert database.rows("SELECT status, attempts FROM jobs WHERE id = 7") == [("dead", 32767)]
    assert database.value("SELECT count(*) FROM jobs WHERE status = 'pending' AND attempts = 2") == 49


@pytest.mark.case("R14")
def test_a_trigger_that_swallows_changes_is_noticed(database: Database) -> None:
    prepare(database, 20)
    database.execute("CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
    database.execute("CREATE TRIGGER swallow BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION swallow()")
    result = reap(database)
    assert (result.requeued, result.conflicts, result.swallowed) == (0, 20, 20)
    assert "discarded" in result.example


@pytest.mark.case("R14")
def test_a_trigger_that_raises_for_one_row_costs_that_row_only(database: Database) -> None:
    prepare(database, 64)
    database.execute("""
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF new.id = 33 THEN RAISE EXCEPTION 'not this one'; END IF; RETURN new; END $$
    """)
    database.execute("CREATE TRIGGER refuse BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION refuse()")
    result = reap(database)
    assert (result.requeued, result.conflicts) == (63, 1)
    assert "not this one" in result.example


@pytest.mark.case("R14")
def test_a_trigger_that_notifies_for_each_of_50000_rows_is_met_in_bounded_batches(database: Database) -> None:
    prepare(database, 50_000)
    database.execute("""
        CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_notify('jobs', new.id::text); RETURN new; END $$
    """)
    database.execute("CREATE TRIGGER tell AFTER UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION tell()")
    database.execute("CREATE TABLE batches (number int)")
    database.execute("""
        CREATE FUNCTION count_batch() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO batches SELECT count(*) FROM written; RETURN NULL; END $$
    """)
    database.execute(
        "CREATE TRIGGER count_batch AFTER UPDATE ON jobs REFERENCING NEW TABLE AS written"
        " FOR EACH STATEMENT EXECUTE FUNCTION count_batch()"
    )
    assert reap(database).requeued == 50_000
    assert database.value("SELECT max(number) FROM batches") == 500


@pytest.mark.parametrize("moving", [False, True], ids=["in place", "with a dead-letter table"])
def test_a_row_that_a_deferred_constraint_refuses_is_isolated(database: Database, *, moving: bool) -> None:
    prepare(database, 30)
    database.execute("ALTER TABLE jobs ADD COLUMN slot text")
    database.execute("ALTER TABLE jobs ADD CONSTRAINT slots UNIQUE (slot) DEFERRABLE INITIALLY DEFERRED")
    database.execute("""
        CREATE FUNCTION take_slot() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF new.id IN (4, 9) THEN new.slot := 'taken'; END IF; RETURN new; END $$
    """)
    database.execute("CREATE TRIGGER take_slot BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION take_slot()")
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    result = reap(database, FIELD + ('dead_letter_table = "dead_jobs"\n' if moving else ""))
    assert (result.requeued, result.conflicts) == (29, 1)


PUT_OFF_AGAIN = """
CREATE TABLE noted (id bigint);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN SET CONSTRAINTS ALL DEFERRED; INSERT INTO noted VALUES (new.id); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER note AFTER UPDATE ON jobs DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note();
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN IF new.id = 4 THEN RAISE EXCEPTION 'at the end'; END IF; RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON noted DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse();
"""


@pytest.mark.parametrize("moving", [False, True], ids=["in place", "with a dead-letter table"])
def test_a_row_whose_check_is_put_off_until_the_very_commit_is_isolated(database: Database, *, moving: bool) -> None:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (status, lease_until) SELECT 'running', now() - interval '1 minute' FROM generate_series(1, 10)"
    )
    database.execute(PUT_OFF_AGAIN)
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    result = reap(database, FIELD + ('dead_letter_table = "dead_jobs"\n' if moving else ""))
    assert (result.requeued, result.conflicts) == (9, 1)
    assert statuses(database) == {"pending": 9, "running": 1}
