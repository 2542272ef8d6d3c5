"""What changes, or is hidden, while dead letters are retried or purged: nothing is lost by it, and all of it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from pgq_ops.errors import NotPermitted, TableChanged, UsageError
from pgq_ops.job_table.dead_filter import DeadFilter
from pgq_ops.tasks.dead_purge import DeadPurge
from pgq_ops.tasks.dead_retry import DeadRetry
from tests.support.binding import bind_toml
from tests.support.jobs import SMALL, create_field_table
from tests.support.retrying import DEAD, MOVED, purge, retry

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


@pytest.mark.case("R22")
def test_a_job_that_moves_to_another_partition_takes_nothing_with_it_that_nobody_agreed_to_lose(
    database: Database,
) -> None:
    database.execute("""
        CREATE TABLE jobs (id bigint, status text, attempts int, lease_until timestamptz, locked_by text, run_at timestamptz,
                           PRIMARY KEY (id, run_at)) PARTITION BY RANGE (run_at);
        CREATE TABLE jobs_old PARTITION OF jobs FOR VALUES FROM (MINVALUE) TO ('2026-01-01');
        CREATE TABLE jobs_new PARTITION OF jobs FOR VALUES FROM ('2026-01-01') TO (MAXVALUE);
        INSERT INTO jobs (id, status, attempts, run_at) SELECT n, 'dead', 5, '2025-05-05' FROM generate_series(1, 5) AS n;
        CREATE TABLE events (job bigint, at timestamptz,
                             FOREIGN KEY (job, at) REFERENCES jobs ON UPDATE CASCADE ON DELETE CASCADE);
        INSERT INTO events SELECT id, run_at FROM jobs
    """)
    if database.server.major >= 15:
        assert retry(database, SMALL).counts.jobs == 5
        assert database.value("SELECT count(*) FROM events JOIN jobs_new ON (id, run_at) = (job, at)") == 5
        return
    with pytest.raises(UsageError, match="events_job_at_fkey deletes rows of events"):
        retry(database, SMALL)
    assert database.value("SELECT count(*) FROM events") == 5
    assert retry(database, SMALL, cascade=True).counts.jobs == 5


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
