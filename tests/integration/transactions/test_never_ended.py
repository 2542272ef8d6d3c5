"""Who is never ended, and what a role needs to end the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.schema.grants import apply, plan
from pgq_ops.schema.tier import Tier
from pgq_ops.tasks import end_session
from pgq_ops.tasks.end_session import Fate
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table
from tests.support.sessions import counted, is_over, is_there, opened, ours, pid, transaction_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.database import Database
    from tests.support.roles import Roles


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("superuser", "its role is a superuser, whose sessions pgq-ops never ends"),
        ("ours", "it is a session of pgq-ops"),
        ("elsewhere", "it is in another database"),
    ],
)
def test_nobody_is_ended_who_must_not_be(
    database: Database, app: str, make_database: Callable[[], Database], name: str, reason: str
) -> None:
    place = make_database() if name == "elsewhere" else database
    options = {} if name in {"superuser", "ours"} else {"user": app}
    session = opened(place, "pgq-ops/maintenance" if name == "ours" else "worker", "SELECT 1", **options)
    start = "SELECT extract(epoch FROM xact_start)::text FROM pg_stat_activity WHERE pid = %s"
    done = end_session.end(ours(database), pid(session), database.value(start, [pid(session)]), "a test")
    assert (done.fate, done.reason) == (Fate.REFUSED, reason)
    assert not is_over(session)
    assert counted(database) == 0


def test_a_session_does_not_end_itself_whatever_it_is_called(database: Database, app: str) -> None:
    asking = ours(database, app)
    asking.execute("SET application_name = 'renamed'")
    with asking.transaction():
        started = asking.execute("SELECT extract(epoch FROM now())::text").fetchall()[0][0]
        done = end_session.end(asking, pid(asking), started, "a test")
    assert (done.fate, done.reason) == (Fate.REFUSED, "it is a session of pgq-ops")


def test_background_processes_are_not_even_found_by_their_transaction(database: Database) -> None:
    ids = "SELECT pid FROM pg_stat_activity WHERE backend_type NOT IN ('client backend', 'autovacuum worker')"
    for (number,) in database.rows(ids):
        assert end_session.end(ours(database), number, "0", "a test").fate is Fate.GONE
        assert is_there(database, number)


def test_a_worker_of_somebody_else_s_is_refused_as_no_client(database: Database, app: str) -> None:
    """A parallel worker has its leader's transaction, and autovacuum and replication are processes like it."""
    database.execute(
        f'CREATE TABLE big AS SELECT generate_series(1, 20000) AS n; ANALYZE big; GRANT SELECT ON big TO "{app}"'
    )
    leader = database.connect(user=app, application_name="query")
    for setting in ("parallel_setup_cost = 0", "parallel_tuple_cost = 0", "min_parallel_table_scan_size = 0"):
        leader.execute(f"SET {setting}".encode())
    leader.pgconn.send_query(b"SELECT count(pg_sleep(60)) FROM big")
    found = "SELECT pid, extract(epoch FROM xact_start)::text FROM pg_stat_activity WHERE leader_pid = %s AND xact_start IS NOT NULL"
    rows: list[tuple[int, str]] = []
    while not rows:
        rows = database.rows(found, [pid(leader)])
    done = end_session.end(ours(database), *rows[0], "a test")
    assert (done.fate, done.reason) == (Fate.REFUSED, "it is no client's session")
    assert is_there(database, rows[0][0])
    leader.cancel()


@pytest.mark.parametrize(
    ("members", "missing"),
    [((), "pg_monitor"), (("pg_monitor",), "pg_signal_backend"), (("pg_signal_backend",), "pg_monitor")],
    ids=["nothing", "sees", "ends"],
)
def test_what_a_role_lacks_is_told_with_the_grant(
    database: Database, app: str, make_role: Roles, members: tuple[str, ...], missing: str
) -> None:
    role = make_role("ops", member_of=members)
    session = opened(database, "worker", "SELECT FROM t", user=app)
    one = transaction_of(database, session)
    connection = ours(database, role)
    planned = end_session.plan(connection, one.pid, one.started)
    done = end_session.end(connection, one.pid, one.started, "a test")
    assert done.fate is planned.fate is Fate.NOT_PERMITTED
    assert done.remedy == f'GRANT {missing} TO "{role}";'
    assert not is_over(session)


def test_a_role_with_the_tier_transactions_sees_and_ends(database: Database, app: str, make_role: Roles) -> None:
    create_field_table(database)
    role, admin = make_role("ops"), database.connect()
    planned = plan(admin, role, [bind_toml(database, FIELD).table], [Tier.TRANSACTIONS])
    assert planned[-1].statement == f'GRANT pg_signal_backend TO "{role}"'
    assert apply(admin, planned).error is None
    one = transaction_of(database, opened(database, "worker", "SELECT FROM t", user=app))
    assert end_session.end(ours(database, role), one.pid, one.started, "a test").fate is Fate.ENDED
    again = plan(admin, role, [bind_toml(database, FIELD).table], [Tier.TRANSACTIONS])
    assert "pg_signal_backend" not in str(again)
    assert "pg_signal_backend" not in str(plan(admin, make_role("reaper"), [], [Tier.REAP]))


def test_a_role_may_end_sessions_of_its_own(database: Database, app: str) -> None:
    one = transaction_of(database, opened(database, "worker", "SELECT FROM t", user=app))
    assert end_session.end(ours(database, app), one.pid, one.started, "a test").fate is Fate.ENDED
