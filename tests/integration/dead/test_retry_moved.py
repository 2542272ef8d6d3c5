"""Retrying dead jobs that were moved to a dead-letter table: they come back whole, with their own ids, or stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.errors import NotPermitted, TableChanged, UsageError
from pgq_ops.job_table.dead_filter import DeadFilter
from pgq_ops.schema.versions import install
from pgq_ops.tasks.dead_retry import DeadRetry
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table, reap, statuses
from tests.support.retrying import MOVED, retry

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

ONLY_MOVED = MOVED.replace('dead = ["dead"]\n', "")
LIKE = "CREATE TABLE dead_jobs (LIKE jobs INCLUDING ALL EXCLUDING IDENTITY EXCLUDING INDEXES)"


def bury(database: Database, number: int = 60, dead: str = LIKE, jobs: str = "SELECT 1") -> None:
    """A job table whose jobs were all moved to the dead-letter table by the reaper."""
    create_field_table(database)
    database.execute(jobs)
    database.execute(dead)
    database.execute(
        "INSERT INTO jobs (queue, status, lease_until, attempts, locked_by, last_error, dedup_key)"
        " SELECT 'mail', 'running', now() - interval '1 minute', 5, 'worker', 'boom', 'key-' || n"
        " FROM generate_series(1, %(n)s) AS n",
        {"n": number},
    )
    assert reap(database, MOVED).dead_lettered == number
    assert database.value("SELECT count(*) FROM jobs") == 0


@pytest.mark.case("D4")
def test_one_and_then_all_come_back_with_their_own_ids_and_a_second_run_changes_nothing(database: Database) -> None:
    bury(database, 1_100)
    one = retry(database, MOVED, wanted=DeadFilter(ids=("7",)))
    assert (one.counts.jobs, one.counts.moved, one.counts.ids) == (1, 1, ("7",))
    assert database.rows("SELECT id, status, attempts, locked_by, lease_until, finished_at, dedup_key FROM jobs") == [
        (7, "pending", 0, None, None, None, "key-7")
    ]
    result = retry(database, MOVED)
    assert (result.counts.jobs, result.counts.moved, result.counts.refused) == (1_099, 1_099, 0)
    assert database.value("SELECT array_agg(id ORDER BY id) FROM jobs") == list(range(1, 1_101))
    assert database.value("SELECT count(*) FROM dead_jobs") == 0
    assert (
        database.value("SELECT count(*) FROM jobs WHERE last_error ~ '^boom\n.*buried.*\n.*retried by pgq-ops'")
        == 1_100
    )
    assert 1_099 / 50 - 1 <= result.spread_seconds <= 1_099 / 50
    again = retry(database, MOVED)
    assert (again.counts.jobs, again.outcome) == (0, "nothing")


def test_dead_jobs_in_both_places_come_back(database: Database) -> None:
    bury(database, 3)
    database.execute("INSERT INTO jobs (status, attempts) VALUES ('dead', 5), ('dead', 5)")
    result = retry(database, MOVED, limit=4)
    assert (result.counts.jobs, result.counts.moved) == (4, 2)
    assert retry(database, MOVED).counts.moved == 1
    assert statuses(database) == {"pending": 5}


@pytest.mark.case("D4")
def test_a_job_whose_key_is_taken_stays_and_is_told_and_the_others_come_back(database: Database) -> None:
    bury(database, 20)
    database.execute("INSERT INTO jobs (id, status) VALUES (5, 'done')")
    database.execute("INSERT INTO dead_jobs SELECT * FROM dead_jobs WHERE id = 9")
    result = retry(database, MOVED)
    assert (result.counts.jobs, result.counts.refused) == (19, 2)
    assert {conflict.id for conflict in result.counts.conflicts} == {"5", "9"}
    assert all("jobs_pkey" in conflict.reason for conflict in result.counts.conflicts)
    assert database.rows("SELECT id FROM dead_jobs ORDER BY 1") == [(5,), (9,)]
    assert database.value("SELECT count(*) FROM jobs") == 20


@pytest.mark.case("D4")
def test_a_pending_twin_that_is_committed_is_a_conflict_and_one_that_is_not_makes_the_job_wait(
    database: Database,
) -> None:
    bury(database, 20)
    database.execute("CREATE UNIQUE INDEX one_pending ON jobs (dedup_key) WHERE status = 'pending'")
    database.execute("INSERT INTO jobs (status, dedup_key) VALUES ('pending', 'key-4')")
    with database.connect(autocommit=False) as other:
        other.execute("INSERT INTO jobs (status, dedup_key) VALUES ('pending', 'key-8')")
        result = retry(database, MOVED)
        assert (result.counts.jobs, result.counts.locked_ids) == (18, ("8",))
        assert [(one.id, "one_pending" in one.reason) for one in result.counts.conflicts] == [("4", True)]
        other.rollback()
    assert database.rows("SELECT id FROM dead_jobs ORDER BY 1") == [(4,), (8,)]
    assert retry(database, MOVED).counts.ids == ("8",)


@pytest.mark.case("D1")
def test_columns_in_another_order_of_other_widths_and_identities_come_back_as_they_were(database: Database) -> None:
    bury(
        database,
        10,
        """CREATE TABLE dead_jobs (buried_at timestamptz DEFAULT now(), grave bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
           last_error text, dedup_key text, created_at timestamptz, run_at timestamptz, locked_by text, lease_until timestamptz,
           max_attempts numeric, attempts text, status text, tags text, queue text, finished_at timestamptz, id bigint,
           size bigint, shouted text GENERATED ALWAYS AS (upper(queue)) STORED)""",
        """ALTER TABLE jobs ALTER id SET GENERATED ALWAYS, ADD tags jsonb DEFAULT '{"a": [1]}', ADD size bigint NOT NULL DEFAULT 7,
           ADD shouted text GENERATED ALWAYS AS (upper(queue)) STORED""",
    )
    database.execute("UPDATE dead_jobs SET size = NULL WHERE id = 3")
    result = retry(database, MOVED)
    assert (result.counts.jobs, result.counts.conflicts) == (10, ())
    assert database.value("SELECT array_agg(id ORDER BY id) FROM jobs") == list(range(1, 11))
    assert (
        database.value("SELECT count(*) FROM jobs WHERE tags = '{\"a\": [1]}' AND shouted = 'MAIL' AND size = 7") == 10
    )
    assert database.value("SELECT count(*) FROM dead_jobs") == 0


@pytest.mark.case("D1")
def test_a_value_for_which_jobs_have_no_column_keeps_its_job_where_it_is(database: Database) -> None:
    tables = 'ALTER TABLE jobs ADD tenant text, ADD region text DEFAULT \'eu\', ADD "odd %s"" {}" json'
    bury(database, 10, dead=LIKE, jobs=tables)
    database.execute(
        "UPDATE dead_jobs SET tenant = 'somebody' WHERE id = 2; UPDATE dead_jobs SET region = 'us' WHERE id = 4"
    )
    database.execute("""UPDATE dead_jobs SET "odd %s"" {}" = '{}', tenant = 'x' WHERE id = 6""")
    database.execute('ALTER TABLE jobs DROP tenant, DROP region, DROP "odd %s"" {}"')
    result = retry(database, MOVED)
    assert result.counts.jobs == 7
    reasons = {one.id: one.reason for one in result.counts.conflicts}
    assert set(reasons) == {"2", "4", "6"}
    assert "no column tenant," in reasons["2"]
    assert "no column region," in reasons["4"]
    assert 'no column tenant, odd %s" {},' in reasons["6"]
    assert database.rows("SELECT id, tenant FROM dead_jobs ORDER BY 1") == [(2, "somebody"), (4, None), (6, "x")]
    database.execute("ALTER TABLE jobs ADD tenant text")
    assert retry(database, MOVED).counts.ids == ("2",)
    assert database.value("SELECT tenant FROM jobs WHERE id = 2") == "somebody"


@pytest.mark.case("D1")
def test_no_job_leaves_a_table_that_has_got_a_column_since_it_was_looked_at(database: Database) -> None:
    bury(database, 5)
    bound = bind_toml(database, ONLY_MOVED)
    once = iter([True])

    def guard() -> bool:
        if next(once, False):
            database.execute("ALTER TABLE dead_jobs ADD COLUMN tenant text DEFAULT 'somebody'")
        return True

    with pytest.raises(TableChanged, match="tenant"):
        DeadRetry().run(bound.connection, bound.table, guard)
    assert database.value("SELECT count(*) FROM dead_jobs") == 5
    assert database.value("SELECT count(*) FROM jobs") == 0


def test_a_value_that_no_longer_fits_is_a_conflict_and_nothing_is_cut(database: Database) -> None:
    bury(database, 10, jobs="ALTER TABLE jobs ALTER dedup_key TYPE varchar(20)")
    database.execute("ALTER TABLE dead_jobs ALTER dedup_key TYPE text")
    database.execute("UPDATE dead_jobs SET dedup_key = repeat('x', 21) WHERE id = 3")
    result = retry(database, MOVED)
    assert (result.counts.jobs, [one.id for one in result.counts.conflicts]) == (9, ["3"])
    assert "22001" in result.counts.conflicts[0].reason


@pytest.mark.case("R23")
def test_a_trigger_of_the_job_table_that_swallows_jobs_loses_nothing(database: Database) -> None:
    bury(database, 30)
    database.execute(
        """
        CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF new.id %% 10 = 0 THEN RETURN NULL; END IF; RETURN new; END $$
    """.replace("%%", "%")
    )
    database.execute("CREATE TRIGGER swallow BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION swallow()")
    result = retry(database, MOVED)
    assert (result.counts.jobs, [one.id for one in result.counts.conflicts]) == (27, ["10", "20", "30"])
    assert "discarded" in result.counts.conflicts[0].reason
    assert database.value("SELECT count(*) FROM jobs") == 27
    assert database.value("SELECT count(*) FROM dead_jobs") == 3


def test_a_row_that_somebody_reads_for_update_stays_and_is_told(database: Database) -> None:
    bury(database, 5)
    with database.connect(autocommit=False) as other:
        other.execute("SELECT FROM dead_jobs WHERE id = 2 FOR KEY SHARE")
        result = retry(database, MOVED)
        assert (result.counts.jobs, result.counts.locked_ids) == (4, ("2",))


def test_foreign_keys_to_the_dead_letter_table_that_would_lose_rows_are_named_and_refused(database: Database) -> None:
    bury(database, 5, LIKE + "; ALTER TABLE dead_jobs ADD PRIMARY KEY (id)")
    database.execute(
        "CREATE TABLE notes (job bigint REFERENCES dead_jobs ON DELETE CASCADE); INSERT INTO notes VALUES (1)"
    )
    with pytest.raises(UsageError, match="notes_job_fkey deletes rows of notes"):
        retry(database, MOVED)
    assert database.value("SELECT count(*) FROM notes") == 1
    result = retry(database, MOVED, cascade=True)
    assert (result.counts.jobs, tuple(map(str, result.cascades))) == (5, ("notes_job_fkey deletes rows of notes",))
    assert database.value("SELECT count(*) FROM notes") == 0


def test_without_the_right_to_move_them_the_grants_are_named(database: Database, make_role: Roles) -> None:
    bury(database, 5)
    role = make_role("retrier")
    database.execute(f"GRANT SELECT ON jobs, dead_jobs TO {role}")
    with pytest.raises(NotPermitted) as refused:
        retry(database, ONLY_MOVED, role=role)
    remedies = [line.strip() for line in str(refused.value).splitlines() if "GRANT" in line]
    assert len(remedies) == 3
    for remedy in remedies:
        database.execute(remedy)
    assert retry(database, ONLY_MOVED, role=role).counts.jobs == 5


def test_attempts_that_are_counted_in_the_log_begin_afresh(database: Database) -> None:
    create_field_table(database)
    install(database.connect())
    toml = FIELD.replace('attempts = "attempts"\n', "")
    database.execute("INSERT INTO jobs (status) VALUES ('dead'), ('dead')")
    oid = database.value("SELECT 'jobs'::regclass::oid::bigint")
    database.execute(
        "INSERT INTO pgq_ops.reap_log (table_oid, job, outcome, at)"
        " SELECT %s, '1', 'requeued', now() - n * interval '1 minute' FROM generate_series(1, 4) AS n",
        [oid],
    )

    def runs_left(job: int) -> int:
        runs = 0
        while database.value("SELECT status FROM jobs WHERE id = %s", [job]) == "pending":
            runs += 1
            database.execute(
                "UPDATE jobs SET status = 'running', lease_until = now() - interval '1 s' WHERE id = %s", [job]
            )
            reap(database, toml)
        return runs

    assert retry(database, toml).counts.jobs == 2
    assert runs_left(1) == 5
    assert retry(database, toml, extra_attempts=2).counts.ids == ("1",)
    assert runs_left(1) == 2
    assert runs_left(2) == 5
    log = "SELECT outcome, attempt FROM pgq_ops.reap_log WHERE job = '1' AND outcome <> 'requeued' ORDER BY id"
    assert database.rows(log) == [("retried", 0), ("dead_lettered", 5), ("retried", 3), ("dead_lettered", 5)]
