"""Ready jobs whose rows somebody holds locked, by locks of every kind."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from psycopg import sql

from pgq_ops.checks import ready_locked as check
from pgq_ops.db.connection import PROBE_LIMITS
from pgq_ops.errors import NotPermitted
from pgq_ops.stats import ready_locked
from tests.support.binding import bind_toml
from tests.support.collecting import collection_of
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    import psycopg

    from pgq_ops.stats.ready_locked import ReadyLocked
    from tests.support.binding import BoundTable
    from tests.support.database import Database
    from tests.support.roles import Roles

FIRST = (
    "SELECT id FROM jobs WHERE status = 'pending' AND run_at <= now() ORDER BY run_at, id LIMIT {} FOR {} SKIP LOCKED"
)
FOUND = "ready-locked"


def _ready(database: Database, jobs: int = 5) -> None:
    create_field_table(database)
    database.execute("CREATE INDEX claim ON jobs (run_at, id) WHERE status = 'pending'")
    database.execute(
        "INSERT INTO jobs (queue, status, run_at) SELECT 'a', 'pending', now() - make_interval(secs => 100 - i)"
        " FROM generate_series(1, %s) AS i",
        [jobs],
    )
    database.execute("INSERT INTO jobs (queue, status, run_at) VALUES ('a', 'pending', now() + interval '1 h')")


def _session(database: Database, name: str = "worker-7") -> psycopg.Connection[Any]:
    return database.connect(autocommit=False, application_name=name)


def _lock(session: psycopg.Connection[Any], jobs: int = 2, how: str = "UPDATE") -> None:
    session.execute(sql.SQL(FIRST).format(jobs, sql.SQL(how)))


def _bound(database: Database, role: str | None = None) -> BoundTable:
    return bind_toml(database, FIELD, limits=PROBE_LIMITS, read_only=True, role=role)


def _read(bound: BoundTable) -> ReadyLocked:
    seen = ready_locked.read(bound.connection, bound.table)
    assert seen is not None
    return seen


def _held(bound: BoundTable) -> tuple[int, list[tuple[str, int]]]:
    """How many are locked, and by whom how many."""
    seen = _read(bound)
    return seen.locked, [(holder.application_name, holder.jobs) for holder in seen.holders]


def test_the_session_that_holds_ready_jobs_is_named_with_what_ends_it(database: Database) -> None:
    _ready(database)
    bound = _bound(database)
    assert _read(bound) == ready_locked.ReadyLocked(5, 0)
    worker = _session(database)
    _lock(worker)
    seen = _read(bound)
    assert (seen.looked_at, seen.locked) == (5, 2)
    [holder] = seen.holders
    assert (holder.pid, holder.application_name, holder.state, holder.jobs) == (
        worker.info.backend_pid, "worker-7", "idle in transaction", 2,
    )  # fmt: skip
    assert holder.seconds is not None
    assert 0 <= holder.seconds < 60
    started = "SELECT extract(epoch FROM xact_start)::text FROM pg_stat_activity WHERE pid = %s"
    assert holder.started == database.value(started, [holder.pid])
    assert holder.xid == database.value(
        "SELECT backend_xid::text::bigint FROM pg_stat_activity WHERE pid = %s", [holder.pid]
    )


def test_a_hundred_are_looked_at_in_the_order_of_the_claim(database: Database) -> None:
    _ready(database, 99)
    bound = _bound(database)
    assert _read(bound).looked_at == 99
    database.execute("INSERT INTO jobs (status, run_at) VALUES ('pending', now()), ('pending', now() - interval '1 y')")
    late = _session(database)
    late.execute(
        "SELECT FROM jobs WHERE status = 'pending' AND run_at <= now() ORDER BY run_at DESC LIMIT 2 FOR UPDATE"
    )
    seen = _read(bound)
    assert (seen.looked_at, seen.locked) == (100, 1)


def test_a_lock_that_is_over_is_none_however_it_ended(database: Database) -> None:
    _ready(database)
    bound = _bound(database)
    # An older transaction is open throughout, so that what ended after it began is not simply too old to run.
    elder = _session(database, "elder")
    elder.execute("SELECT pg_current_xact_id()")
    for end in ("rollback", "commit"):
        worker = _session(database)
        _lock(worker)
        assert _held(bound) == (2, [("worker-7", 2)])
        getattr(worker, end)()
        assert _held(bound) == (0, [])
    changed = _session(database)
    changed.execute("UPDATE jobs SET status = 'running' WHERE id <= 3")
    assert _held(bound) == (3, [("worker-7", 3)])
    changed.rollback()
    assert _held(bound) == (0, [])


def test_locks_of_several_on_one_row_are_held_by_each_of_them_until_the_last_is_gone(database: Database) -> None:
    _ready(database)
    bound = _bound(database)
    # Children of the jobs, as their foreign key's check locks them.
    database.execute("CREATE TABLE events (job bigint REFERENCES jobs)")
    first, second = _session(database, "first"), _session(database, "second")
    for session in (first, second):
        session.execute("INSERT INTO events VALUES (1), (2)")
    claiming = _session(database)
    assert claiming.execute(sql.SQL(FIRST).format(1, sql.SQL("UPDATE"))).fetchall() == [(3,)]
    claiming.rollback()
    assert _held(bound) == (2, [("first", 2), ("second", 2)])
    first.rollback()
    assert _held(bound) == (2, [("second", 2)])
    second.commit()
    assert database.value("SELECT xmax::text FROM jobs WHERE id = 1") != "0"
    assert _held(bound) == (0, [])


def test_a_savepoint_s_locks_are_seen_also_once_it_is_released(database: Database) -> None:
    _ready(database)
    bound = _bound(database)
    worker = _session(database)
    worker.execute("SAVEPOINT s")
    _lock(worker)
    assert _held(bound) == (2, [("worker-7", 2)])
    worker.execute("RELEASE s")
    assert _held(bound) == (2, [("worker-7", 2)])
    # Another one with locks on the table, begun before that savepoint's number was given, may be meant as well.
    worker.rollback()
    other = _session(database, "other")
    _lock(other, 1)
    worker.execute("SAVEPOINT s")
    _lock(worker)
    worker.execute("RELEASE s")
    assert _held(bound) == (3, [("other", 1)])
    worker.rollback()
    assert _held(bound) == (1, [("other", 1)])


def test_a_prepared_transaction_is_named_by_its_gid(database: Database) -> None:
    _ready(database)
    worker = _session(database)
    _lock(worker)
    gid = f"the 'gid' of {database.name}"
    worker.execute(sql.SQL("PREPARE TRANSACTION {}").format(gid))
    seen = collection_of(database)
    seen.collector.warn_after_seconds = 0.0
    finding = seen.healthy().finding(FOUND)
    assert finding.evidence["holders"][0]["name"] == gid
    assert finding.evidence["holders"][0]["pid"] is None
    assert f'2 by prepared transaction "{gid}" (user ' in finding.summary
    database.execute(finding.remedy)
    assert seen.healthy().value("ready_locked") == 0
    assert FOUND not in seen.finding_ids()


def test_every_leaf_of_a_partitioned_table_is_looked_at(database: Database) -> None:
    database.execute("""
        CREATE TABLE jobs (id int GENERATED ALWAYS AS IDENTITY, status text, run_at timestamptz) PARTITION BY RANGE (id);
        CREATE TABLE jobs_low PARTITION OF jobs FOR VALUES FROM (MINVALUE) TO (3);
        CREATE TABLE jobs_high PARTITION OF jobs FOR VALUES FROM (3) TO (MAXVALUE);
        INSERT INTO jobs (status, run_at) SELECT 'pending', now() FROM generate_series(1, 6)
    """)
    toml = """
        [job_tables.jobs]
        table = "jobs"
        [job_tables.jobs.columns]
        id = "id"
        state = "status"
        available_at = "run_at"
        [job_tables.jobs.states]
        pending = ["pending"]
        running = ["running"]
        done = ["done"]
        dead = ["dead"]
    """
    bound = bind_toml(database, toml, read_only=True)
    worker = _session(database)
    _lock(worker, 4)
    assert _held(bound) == (4, [("worker-7", 4)])


def test_a_transaction_that_is_younger_than_the_limit_is_no_finding(database: Database) -> None:
    _ready(database)
    _lock(_session(database))
    seen = collection_of(database).healthy()
    assert seen.value("ready_locked") == 2
    assert FOUND not in seen.finding_ids()


def test_a_transaction_that_is_older_is_named_until_it_ends(database: Database, make_role: Roles) -> None:
    _ready(database)
    role = make_role("worker")
    database.execute(f"GRANT SELECT, UPDATE ON jobs TO {role}")
    worker = database.connect(autocommit=False, application_name="worker-7", user=role)
    _lock(worker)
    seen = collection_of(database)
    seen.collector.warn_after_seconds = 0.0
    finding = seen.healthy().finding(FOUND)
    assert finding.severity == "warning"
    assert (finding.evidence["looked_at"], finding.evidence["locked"]) == (5, 2)
    [holder] = finding.evidence["holders"]
    started = "SELECT extract(epoch FROM xact_start)::text FROM pg_stat_activity WHERE pid = %s"
    session = f"{worker.info.backend_pid}@{database.value(started, [worker.info.backend_pid])}"
    assert holder["session"] == session
    assert finding.remedy == f"pgq-ops transactions end --yes {session}"
    assert finding.summary.startswith(
        "2 of the first 5 ready jobs of public.jobs are locked, and no claim gets them: 2 by"
    )
    assert f"2 by session {worker.info.backend_pid} (worker-7, user {role}, idle in transaction)" in finding.summary
    worker.rollback()
    assert seen.healthy().value("ready_locked") == 0
    assert FOUND not in seen.finding_ids()


def test_it_is_critical_once_a_job_has_waited_for_longer_than_was_promised(database: Database) -> None:
    _ready(database)
    _lock(_session(database))
    seen = collection_of(database, FIELD + '[job_tables.jobs.slo]\noldest_ready = "30s"\n')
    seen.collector.warn_after_seconds = 0.0
    assert seen.healthy().finding(FOUND).severity == "critical"


def test_a_role_that_sees_no_times_names_who_is_seen_to_hold_jobs_look_after_look(
    database: Database, make_role: Roles
) -> None:
    _ready(database)
    role = make_role("observer")
    database.execute(f"GRANT SELECT ON jobs TO {role}")
    seen = collection_of(database, role=role)
    with closing(_session(database)) as worker:
        _lock(worker)
        assert FOUND not in seen.healthy().finding_ids()
        seen.healthy()
        finding = seen.finding(FOUND)
        [holder] = finding.evidence["holders"]
        assert holder["pid"] == worker.info.backend_pid
        assert holder["session"] is None
        assert holder["seconds"] == 600.0
        assert finding.remedy == f"SELECT pg_terminate_backend({worker.info.backend_pid});"


def test_who_may_not_read_xmax_is_told_the_grant_and_sees_no_number(database: Database, make_role: Roles) -> None:
    _ready(database)
    role = make_role("reader")
    columns = (
        "id, queue, status, run_at, attempts, max_attempts, lease_until, locked_by, created_at, last_error, finished_at"
    )
    database.execute(f"GRANT SELECT ({columns}) ON jobs TO {role}")
    bound = _bound(database, role)
    with pytest.raises(NotPermitted, match="GRANT SELECT"):
        _read(bound)
    seen = collection_of(database, role=role).healthy()
    assert seen.value("ready_locked") is None
    assert seen.value("claim_buffers") is not None
    try:
        _read(bound)
    except NotPermitted as error:
        database.execute(str(error)[str(error).index("GRANT SELECT") :])
    assert _read(bound).looked_at == 5
    assert seen.healthy().value("ready_locked") == 0


def test_the_holders_are_asked_for_only_where_a_lock_lasts(database: Database) -> None:
    _ready(database)
    bound = _bound(database)
    worker = _session(database)
    _lock(worker)
    first = ready_locked.read(bound.connection, bound.table, lasting=frozenset())
    assert first is not None
    assert (first.locked, first.holders) == (2, ())
    again = ready_locked.read(bound.connection, bound.table, lasting=first.xids)
    assert again is not None
    assert [holder.jobs for holder in again.holders] == [2]


def test_a_check_without_a_look_finds_nothing(database: Database) -> None:
    create_field_table(database)
    look = collection_of(database).collect().look
    assert list(check.check(look)) == []
