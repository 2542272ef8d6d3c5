"""What changes while dead letters are retried or purged, and what is too much: nothing is lost and all of it is told."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from pgq_ops.db.connection import Limits
from pgq_ops.errors import NotPermitted, TableChanged
from pgq_ops.job_table.dead_filter import DeadFilter
from pgq_ops.schema.versions import install
from pgq_ops.tasks import dead_purge_statement, dead_sweep
from pgq_ops.tasks.dead_purge import DeadPurge
from pgq_ops.tasks.dead_retry import DeadRetry
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, FIELD_TABLE, create_field_table, statuses
from tests.support.retrying import DEAD, MOVED, count_batches, purge, retry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pgq_ops.tasks.task import Guard
    from tests.support.database import Database
    from tests.support.roles import Roles

PARTITIONED = """
CREATE TABLE jobs (id bigint, status text, attempts int, lease_until timestamptz, locked_by text, run_at timestamptz,
    created_at date, PRIMARY KEY (id, created_at)) PARTITION BY RANGE (created_at);
CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE jobs_2 PARTITION OF jobs FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE TABLE jobs_3 PARTITION OF jobs FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
INSERT INTO jobs (id, status, attempts, created_at)
SELECT n, 'dead', 5, '2026-01-05'::date + 31 * (n % 3) FROM generate_series(1, 30) AS n;
"""
SMALL = """
[job_tables.jobs]
table = "jobs"
columns = { id = "id", state = "status", available_at = "run_at", lease_expires_at = "lease_until", attempts = "attempts" }
states = { pending = ["pending"], running = ["running"], done = ["done"], dead = ["dead"] }
"""


def at_call(number: int, act: Callable[[], object]) -> Guard:
    """A guard that never says no and acts when it is asked for the so manieth time: first before any batch."""
    calls = iter(range(1, 1_000))

    def guard() -> bool:
        if next(calls) == number:
            act()
        return True

    return guard


def pending_detachment(database: Database) -> None:
    """A concurrent detachment that was cut short while it waited for somebody who reads."""
    with database.connect(autocommit=False) as reader, database.connect() as other:
        reader.execute("SELECT FROM jobs LIMIT 1")
        other.execute("SET statement_timeout = '300ms'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            other.execute("ALTER TABLE jobs DETACH PARTITION jobs_2 CONCURRENTLY")
    assert database.value("SELECT count(*) FROM pg_inherits WHERE inhdetachpending") == 1


@pytest.mark.parametrize("act", [DeadRetry, DeadPurge])
@pytest.mark.parametrize("how", ["detached", "pending", "replaced", "dropped"])
def test_a_partition_that_leaves_meanwhile_is_left_as_it_is_and_told_and_the_others_go_on(
    database: Database, act: type[DeadRetry | DeadPurge], how: str
) -> None:
    database.execute(PARTITIONED)
    bound = bind_toml(database, SMALL)

    def leave() -> None:
        if how == "pending":
            pending_detachment(database)
        if how in ("detached", "replaced"):
            database.execute("ALTER TABLE jobs DETACH PARTITION jobs_2")
        if how == "replaced":
            database.execute("ALTER TABLE jobs_2 RENAME TO old; CREATE TABLE jobs_2 AS SELECT * FROM old")
        if how == "dropped":
            database.execute("DROP TABLE jobs_2")

    task = act()
    with pytest.raises(TableChanged, match=r"public\.jobs_2 is no longer a part of public\.jobs"):
        task.run(bound.connection, bound.table, at_call(1, leave))
    assert task.done["jobs"].counts.jobs == 20
    for leaf in ("jobs_1", "jobs_3"):
        assert database.value(f"SELECT count(*) FROM {leaf} WHERE status = 'dead'") == 0
    if how != "dropped":
        assert database.value("SELECT count(*) FROM jobs_2 WHERE status = 'dead'") == 10
    if how == "replaced":
        assert database.value("SELECT count(*) FROM old WHERE status = 'dead'") == 10


def test_what_is_told_of_a_partition_that_left_is_not_in_the_file(database: Database, tmp_path: Path) -> None:
    database.execute(PARTITIONED)
    bound = bind_toml(database, SMALL)
    task = DeadPurge(export={"jobs": tmp_path / "a"})
    guard = at_call(1, lambda: database.execute("ALTER TABLE jobs DETACH PARTITION jobs_2"))
    with pytest.raises(TableChanged):
        task.run(bound.connection, bound.table, guard)
    assert task.done["jobs"].exported == len((tmp_path / "a").read_text().splitlines()) == 20


@pytest.mark.parametrize("cascade", [False, True])
@pytest.mark.parametrize("act", [DeadRetry, DeadPurge])
def test_a_foreign_key_that_comes_meanwhile_loses_nobody_a_row(
    database: Database,
    act: type[DeadRetry | DeadPurge],
    cascade: bool,  # noqa: FBT001
) -> None:
    create_field_table(database)
    database.execute("CREATE TABLE dead_jobs (LIKE jobs INCLUDING ALL); CREATE TABLE events (job bigint)")
    place = "dead_jobs" if act is DeadRetry else "jobs"
    database.execute(f"INSERT INTO {place} (id, status, attempts) SELECT n, 'dead', 5 FROM generate_series(1, 1200) n")
    bound = bind_toml(database, MOVED)

    def refer() -> None:
        database.execute(f"INSERT INTO events SELECT id FROM {place}")
        database.execute(f"ALTER TABLE events ADD FOREIGN KEY (job) REFERENCES {place} ON DELETE CASCADE")

    task = act(cascade=cascade)
    # Asked before the job table, before each of its batches, and so on: the first batch with a row comes before it.
    calls = {DeadPurge: 3, DeadRetry: 5}[act]
    with pytest.raises(TableChanged, match="new foreign key to it: events_job_fkey deletes rows of events"):
        task.run(bound.connection, bound.table, at_call(calls, refer))
    assert task.done["jobs"].counts.jobs == 500
    assert database.value("SELECT count(*) FROM events") == 700
    assert database.value(f"SELECT count(*) FROM {place} WHERE status = 'dead'") == 700


def with_policies(database: Database, role: str, letters: str) -> None:
    create_field_table(database)
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    database.execute(f"""
        GRANT ALL ON jobs, dead_jobs TO {role};
        ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
        CREATE POLICY everything ON jobs TO {role} USING (true) WITH CHECK (true);
        ALTER TABLE dead_jobs ENABLE ROW LEVEL SECURITY;
        {letters};
        INSERT INTO dead_jobs (id, queue, status) SELECT n, CASE n % 2 WHEN 0 THEN 'mine' END, 'dead'
        FROM generate_series(1, 6) AS n;
    """)


@pytest.mark.case("R15")
@pytest.mark.parametrize(
    "policy",
    [
        "USING (queue = 'mine')",
        "FOR SELECT USING (true)",
        "USING (true); CREATE POLICY fewest ON dead_jobs AS RESTRICTIVE FOR DELETE USING (queue = 'mine')",
    ],
)
def test_policies_of_the_dead_letter_table_that_hide_rows_are_an_error_and_no_empty_answer(
    database: Database, make_role: Roles, policy: str
) -> None:
    role = make_role("retrier")
    with_policies(database, role, f"CREATE POLICY fewer ON dead_jobs {policy}")
    for act in (retry, purge):
        with pytest.raises(NotPermitted, match=r'CREATE POLICY pgq_ops ON "public"\."dead_jobs"'):
            act(database, MOVED, role=role)
    assert database.value("SELECT count(*) FROM dead_jobs") == 6


def test_a_plan_sees_through_no_policy_either(database: Database, make_role: Roles) -> None:
    role = make_role("retrier")
    with_policies(database, role, "CREATE POLICY fewer ON dead_jobs USING (queue = 'mine')")
    bound = bind_toml(database, MOVED, role=role)
    for task in (DeadRetry(), DeadPurge()):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="dead_jobs"):
            task.plan(bound.connection, bound.table)


def test_policies_that_hide_nothing_let_all_come_back_or_go(database: Database, make_role: Roles) -> None:
    role = make_role("retrier")
    with_policies(database, role, "CREATE POLICY everything ON dead_jobs USING (true)")
    bound = bind_toml(database, MOVED, role=role)
    assert DeadRetry().plan(bound.connection, bound.table).counts.jobs == 6
    assert retry(database, MOVED, role=role, limit=2).counts.jobs == 2
    assert purge(database, MOVED, role=role).counts.jobs == 4


@pytest.mark.case("R15")
def test_rows_that_no_policy_lets_be_locked_are_no_rows_that_somebody_else_has(
    database: Database, make_role: Roles
) -> None:
    create_field_table(database)
    database.execute(DEAD, {"n": 3})
    role = make_role("purger")
    database.execute(f"""
        GRANT SELECT, UPDATE, DELETE ON jobs TO {role};
        ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
        CREATE POLICY seen ON jobs FOR SELECT USING (true);
        CREATE POLICY gone ON jobs FOR DELETE USING (true);
        CREATE POLICY locked ON jobs FOR UPDATE USING (queue = 'mine');
    """)
    with pytest.raises(NotPermitted, match="CREATE POLICY pgq_ops"):
        purge(database, role=role)
    database.execute(f"CREATE POLICY pgq_ops ON jobs TO {role} USING (true) WITH CHECK (true)")
    assert purge(database, role=role).counts.jobs == 3


@pytest.mark.parametrize("most_bytes", [dead_purge_statement.MOST_BYTES, 10**12])
def test_rows_of_any_size_are_exported_within_a_bounded_memory(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_bytes: int
) -> None:
    monkeypatch.setattr(dead_purge_statement, "MOST_BYTES", most_bytes)
    database.execute(FIELD_TABLE)
    database.execute("ALTER TABLE jobs ADD payload bytea; ALTER TABLE jobs ALTER payload SET STORAGE EXTERNAL")
    database.execute(DEAD, {"n": 40})
    database.execute("UPDATE jobs SET payload = decode(repeat('ab', 1000000), 'hex') WHERE id > 3")
    count_batches(database, "DELETE")
    tracemalloc.start()
    try:
        result = purge(database, file=tmp_path / "a")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.exported == result.counts.jobs == 40
    assert len((tmp_path / "a").read_bytes()) > 74_000_000
    assert peak < 16_000_000
    largest = database.value("SELECT max(number) FROM batches")
    assert largest == 40 if most_bytes > 10**9 else 4 < largest <= 19


def test_a_row_that_fails_only_at_the_commit_is_told_and_is_not_in_the_file(database: Database, tmp_path: Path) -> None:
    create_field_table(database)
    database.execute(DEAD, {"n": 10})
    # What SET CONSTRAINTS ALL IMMEDIATE calls puts off another check.
    database.execute("""
        CREATE TABLE noted (id bigint);
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN SET CONSTRAINTS ALL DEFERRED; INSERT INTO noted VALUES (old.id); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER note AFTER DELETE ON jobs DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION note();
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF new.id = 4 THEN RAISE EXCEPTION 'at the end'; END IF; RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON noted DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION refuse();
    """)
    result = purge(database, file=tmp_path / "a")
    assert (result.counts.jobs, result.exported, result.counts.refused) == (9, 9, 1)
    rows = [json.loads(line)["row"]["id"] for line in (tmp_path / "a").read_text().splitlines()]
    assert sorted(rows) == [1, 2, 3, 5, 6, 7, 8, 9, 10]


def test_so_many_rows_that_a_trigger_keeps_are_told_in_good_time(database: Database) -> None:
    create_field_table(database)
    database.execute(DEAD, {"n": 30_000})
    database.execute("""
        CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
        CREATE TRIGGER keep BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION keep();
    """)
    bound = bind_toml(database, FIELD, limits=Limits(statement_ms=2_000))
    counts = DeadRetry().run(bound.connection, bound.table, lambda: True).counts
    assert (counts.jobs, counts.refused, counts.locked) == (0, 30_000, 0)


def test_a_last_look_that_takes_too_long_does_not_cost_the_report(database: Database) -> None:
    create_field_table(database)
    database.execute(DEAD, {"n": 5})
    # Slow from the first change on.
    database.execute("""
        CREATE TABLE begun (at timestamptz);
        CREATE FUNCTION quick(text) RETURNS boolean LANGUAGE plpgsql AS
        $$ BEGIN IF EXISTS (SELECT FROM begun) THEN PERFORM pg_sleep(2); END IF; RETURN true; END $$;
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO begun VALUES (now()); RETURN NULL; END $$;
        CREATE TRIGGER note AFTER UPDATE ON jobs FOR EACH STATEMENT EXECUTE FUNCTION note();
    """)
    toml = FIELD.replace(
        'dead = ["dead"]', """dead = { where = "status = 'dead' AND quick(queue)", set = { status = "'dead'" } }"""
    )
    bound = bind_toml(database, toml, limits=Limits(statement_ms=700))
    with database.connect(autocommit=False) as other:
        other.execute("SELECT FROM jobs WHERE id = 2 FOR UPDATE")
        counts = DeadRetry().run(bound.connection, bound.table, lambda: True).counts
    assert counts.jobs == 4


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("act", [DeadRetry, DeadPurge])
def test_only_an_id_that_is_nowhere_among_the_dead_is_told_as_not_found(
    database: Database,
    act: type[DeadRetry | DeadPurge],
    moved: bool,  # noqa: FBT001
) -> None:
    create_field_table(database)
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    database.execute(DEAD, {"n": 150})
    if moved:
        database.execute("INSERT INTO dead_jobs SELECT * FROM jobs; DELETE FROM jobs")
    database.execute("INSERT INTO jobs (id, status) VALUES (888, 'done')")
    ids = tuple(map(str, range(1, 151)))
    bound = bind_toml(database, MOVED)

    def not_found(task: Any, *, planned: bool = False) -> tuple[str, ...]:
        if planned:
            return task.plan(bound.connection, bound.table).counts.not_found  # type: ignore[no-any-return]
        return task.run(bound.connection, bound.table, lambda: True).counts.not_found  # type: ignore[no-any-return]

    wanted = DeadFilter(ids=(*ids, "888", "999"))
    assert not_found(act(wanted=wanted, limit=1), planned=True) == ("888", "999")
    with database.connect(autocommit=False) as other:
        other.execute(f"SELECT FROM {'dead_jobs' if moved else 'jobs'} FOR UPDATE".encode())
        assert not_found(act(wanted=wanted)) == ("888", "999")
    assert not_found(act(wanted=wanted, limit=1)) == ("888", "999")
    with database.connect(autocommit=False) as other:
        other.execute(f"LOCK TABLE {'dead_jobs' if moved else 'jobs'} IN SHARE MODE".encode())
        assert not_found(act(wanted=DeadFilter(ids=("100",)))) == ()


@pytest.mark.parametrize(
    ("kind", "caps"),
    [
        ("bigint", ["9223372036854775807", "-9223372036854775808"]),
        ("smallint", ["32767", "-32768"]),
        ("numeric", ["'NaN'", "'Infinity'", "'-Infinity'", "1e400", "-1e400", "0.5"]),
        ("double precision", ["'NaN'", "'Infinity'", "'-Infinity'", "1e300", "-1e300"]),
        ("real", ["'NaN'", "'Infinity'", "1e30"]),
    ],
)
@pytest.mark.parametrize("error_type", ["text", "jsonb"])
def test_a_cap_of_any_size_keeps_no_job_from_coming_back(
    database: Database, kind: str, caps: list[str], error_type: str
) -> None:
    create_field_table(database)
    database.execute(f"ALTER TABLE jobs ALTER attempts TYPE {kind}, ALTER max_attempts TYPE {kind}")
    database.execute(f"ALTER TABLE jobs ALTER last_error TYPE {error_type} USING NULL")
    install(database.connect())
    for cap in (*caps, "NULL", "7"):
        database.execute(
            f"INSERT INTO jobs (status, attempts, max_attempts) VALUES ('dead', 5, {cap}), ('dead', {cap}, 5)"
        )
    result = retry(database, extra_attempts=2)
    assert result.counts.conflicts == ()
    assert result.counts.jobs == 2 * len(caps) + 4
    assert database.value("SELECT count(*) FROM jobs WHERE attempts = 5 AND max_attempts = 7") == 1


@pytest.mark.case("D1")
@pytest.mark.parametrize(
    ("job", "stored", "whole", "cut"),
    [
        ("numeric(10,2)", "numeric", ["1.2", "1.250", "NULL", "'NaN'"], ["1.239"]),
        ("numeric(10,2)", "text", ["'1.2'"], ["'1.239'"]),
        ("numeric(10,2)[]", "numeric[]", ["ARRAY[1.2, 3]"], ["ARRAY[1.239]"]),
        ("int", "numeric", ["2", "2.00"], ["2.5"]),
        ("smallint", "bigint", ["7"], ["70000"]),
        ("timestamp(0)", "timestamp", ["'2020-01-01 10:00'"], ["'2020-01-01 10:00:00.7'"]),
        ("date", "timestamp", ["'2020-01-01'", "'infinity'"], ["'2020-01-01 10:00'"]),
        ("date", "text", ["'2020-01-01'"], ["'2020-01-01 10:00'"]),
        ("time", "interval", ["'10:00'"], ["'1 day 10:00'"]),
        ("real", "text", ["'0.1'"], ["'0.123456789012'"]),
        ("cidr", "inet", ["'10.0.0.0/8'"], ["'10.1.2.3/8'"]),
        ("jsonb", "text", ["'{\"a\":  1}'"], []),
    ],
)
def test_a_value_that_would_come_back_as_another_one_keeps_its_job_where_it_is(
    database: Database, job: str, stored: str, whole: list[str], cut: list[str]
) -> None:
    create_field_table(database)
    database.execute(f'ALTER TABLE jobs ADD "odd %s" {job}')
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    database.execute(f'ALTER TABLE dead_jobs DROP "odd %s", ADD "odd %s" {stored}')
    for value in (*whole, *cut):
        number = database.value("SELECT count(*) FROM dead_jobs")
        database.execute(f"INSERT INTO dead_jobs (id, status, \"odd %s\") VALUES ({number}, 'dead', {value})")
    result = retry(database, MOVED)
    assert result.counts.jobs == len(whole)
    assert database.value("SELECT count(*) FROM dead_jobs") == len(cut) == result.counts.refused
    for conflict in result.counts.conflicts:
        assert "odd %s" in conflict.reason or "out of range" in conflict.reason


def test_a_reason_is_told_by_its_beginning(database: Database) -> None:
    create_field_table(database)
    database.execute(DEAD, {"n": 3})
    database.execute("""
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION '%', 'no! ' || repeat('x', 1000000); END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION refuse();
    """)
    reasons = [one.reason for one in retry(database).counts.conflicts]
    assert len(reasons) == 3
    assert all("no! xxx" in reason and len(reason) < 600 for reason in reasons)


def twins(database: Database, dead: int, waiting: str) -> psycopg.Connection[Any]:
    """Dead jobs, some of them with a twin in a transaction that is not over."""
    create_field_table(database)
    database.execute("CREATE UNIQUE INDEX twins ON jobs (dedup_key) WHERE status = 'pending'")
    database.execute(
        "INSERT INTO jobs (status, attempts, dedup_key) SELECT 'dead', 5, n FROM generate_series(1, %(n)s) AS n",
        {"n": dead},
    )
    other = database.connect(autocommit=False)
    other.execute(
        "INSERT INTO jobs (status, dedup_key)"
        f" SELECT 'pending', n FROM generate_series(1, {dead}) AS n WHERE {waiting}".encode()
    )
    return other


def test_a_table_full_of_jobs_that_wait_is_left_after_some_of_them(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_sweep, "MOST_WAITING", 4)
    other = twins(database, 60, "true")
    counts = retry(database).counts
    assert (counts.jobs, counts.locked, counts.busy, counts.outcome) == (0, 4, ("public.jobs",), "busy")
    other.rollback()
    assert retry(database).counts.jobs == 60
    assert statuses(database) == {"pending": 60}


def test_some_that_wait_among_many_keep_nobody_back(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_sweep, "MOST_WAITING", 2)
    twins(database, 600, "n >= 400 AND n % 100 = 0")
    counts = retry(database).counts
    assert (counts.jobs, counts.locked, counts.busy) == (597, 3, ())
