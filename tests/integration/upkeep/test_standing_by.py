"""What entitles the maintenance session to act, and who looks after it while it does."""

from __future__ import annotations

import time
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from psycopg.pq import TransactionStatus
from pydantic import SecretStr

from pgq_ops.agent import watching
from pgq_ops.agent.watching import Watching
from pgq_ops.config.model import Database as DatabaseConfig
from pgq_ops.db.connection import LEADER_LIMITS, MAINTENANCE_LIMITS, PROBE_LIMITS, Purpose
from pgq_ops.db.session import Session
from pgq_ops.leader.leadership import Leadership
from pgq_ops.leader.settle import Settle
from pgq_ops.probes.registry import PROBES
from pgq_ops.scheduler import maintenance as footings
from pgq_ops.scheduler.maintenance import MaintenanceFooting
from pgq_ops.tasks.upkeep.ending import VacuumFate
from pgq_ops.tasks.upkeep.order import Order
from pgq_ops.tasks.upkeep.run import Terms, run
from tests.support.agent import wait_until
from tests.support.collecting import collection_of
from tests.support.jobs import create_field_table
from tests.support.table_health import COLUMNS
from tests.support.upkeep import meanwhile, relation, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import timedelta

    from pgq_ops.job_table.table import JobTable
    from tests.support.database import Database

VACUUMING = "SELECT count(*) FROM pg_stat_progress_vacuum WHERE datname = current_database()"


class Ground:
    """The three sessions of an agent that leads a job table, without its threads."""

    def __init__(self, database: Database) -> None:
        self.database = database
        config = DatabaseConfig(dsn=SecretStr(database.dsn))
        self.leader = Session(config, Purpose.LEADER, LEADER_LIMITS)
        self.probes = Session(config, Purpose.PROBES, PROBE_LIMITS, read_only=True)
        self.maintenance = Session(config, Purpose.MAINTENANCE, MAINTENANCE_LIMITS)
        self.leadership = Leadership(self.leader, "manage", Settle())
        self.footing = MaintenanceFooting(self.maintenance, self.leadership, "manage")
        self.table: JobTable = table_of(database)

    def lead(self) -> None:
        self.leadership.prove()
        self.leadership.take({"jobs": self.table.relation.oid})

    def close(self) -> None:
        for session in (self.leader, self.probes, self.maintenance):
            session.close()


@pytest.fixture
def ground(database: Database) -> Iterator[Ground]:
    database.execute(f"CREATE TABLE jobs ({COLUMNS}, PRIMARY KEY (id))")
    database.execute("INSERT INTO jobs SELECT n, 'done', now() FROM generate_series(1, 2000) AS n")
    ground = Ground(database)
    ground.lead()
    yield ground
    ground.close()


def test_it_may_act_while_the_leaders_session_holds_the_lock_on_the_server(ground: Ground) -> None:
    connection = ground.footing.take(ground.table)
    assert connection is not None
    assert ground.footing.may_act(connection, ground.table)
    assert ground.leader.current is not None
    pid = ground.leader.current.info.backend_pid
    assert ground.database.value("SELECT pg_terminate_backend(%s, 5000)", [pid])
    assert ground.leadership.holds("jobs"), "the agent has not noticed yet"
    assert not ground.footing.may_act(connection, ground.table), "and the server tells"


def test_a_session_that_was_lost_while_it_was_idle_is_made_anew(ground: Ground) -> None:
    connection = ground.footing.take(ground.table)
    assert connection is not None
    ground.footing.give_back(connection, ground.table)
    assert ground.database.value("SELECT pg_terminate_backend(%s, 5000)", [connection.info.backend_pid])
    again = ground.footing.take(ground.table)
    assert again is not None
    assert again is not connection


def test_it_opens_no_connection_where_it_does_not_lead(ground: Ground) -> None:
    ground.leadership.take({})
    assert ground.footing.take(ground.table) is None
    assert ground.maintenance.current is None


def test_of_two_that_believe_to_lead_one_has_the_task_at_hand(ground: Ground) -> None:
    other = Ground(ground.database)
    connection = ground.footing.take(ground.table)
    assert connection is not None
    ground.leader.close()
    other.lead()
    assert other.leadership.holds("jobs")
    assert other.footing.take(other.table) is None, "the former leader's session is at it"
    ground.footing.give_back(connection, ground.table)
    assert other.footing.take(other.table) is not None
    other.close()


def test_a_session_that_nobody_needs_is_closed_and_one_in_use_is_not(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ground.footing.take(ground.table) is not None
    ground.footing.rest()
    assert ground.maintenance.current is not None
    monkeypatch.setattr(footings, "IDLE_SECONDS", 0.0)
    ground.footing.rest()
    assert ground.maintenance.current is None


class _Clockwork:
    """A timetable whose jobs a test runs, or does not."""

    def __init__(self) -> None:
        self.jobs: dict[str, Callable[[], Any]] = {}

    def every(self, interval: timedelta, name: str, thread: str, action: Callable[[], Any]) -> None:
        del interval, thread
        self.jobs[name] = action

    def drop(self, name: str) -> None:
        del self.jobs[name]


@contextmanager
def endless(ground: Ground) -> Iterator[None]:
    """Within, no VACUUM of jobs comes to its end."""
    ground.database.execute("VACUUM jobs")
    ground.database.execute("DELETE FROM jobs WHERE id > 1000")
    reader = ground.database.connect(autocommit=False)
    reader.execute("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off")
    reader.execute("DECLARE resting CURSOR FOR SELECT id FROM jobs ORDER BY id")
    reader.execute("FETCH 1 FROM resting")
    yield
    reader.rollback()


def vacuum(ground: Ground, watch: Watching) -> Any:
    return run(ground.maintenance.connection(), ground.table, Order(relation(ground.database)), Terms(), watch)


def test_one_that_nobody_can_watch_is_cancelled(ground: Ground) -> None:
    clockwork: Any = _Clockwork()
    ground.probes.connection()
    with endless(ground):
        began = time.monotonic()
        end = vacuum(ground, Watching(ground.probes, ground.leadership, clockwork, "probes"))
        took = time.monotonic() - began
    assert (end.fate, end.reason) == (VacuumFate.CANCELLED, "nobody could look whether somebody waits for it")
    assert watching.BLIND_SECONDS <= took < watching.BLIND_SECONDS + 2
    assert not clockwork.jobs


def test_one_that_is_watched_goes_on_until_somebody_waits_and_then_ends_within_a_look(ground: Ground) -> None:
    clockwork: Any = _Clockwork()
    ground.probes.connection()
    watch = Watching(ground.probes, ground.leadership, clockwork, "probes")
    with endless(ground), meanwhile(vacuum, ground, watch) as ended:
        wait_until(lambda: ground.database.value(VACUUMING, {}) == 1, what="it runs")
        until = time.monotonic() + watching.BLIND_SECONDS + 1
        while time.monotonic() < until:
            clockwork.jobs["watch"]()
            time.sleep(0.02)
        assert ground.database.value(VACUUMING, {}) == 1, "longer than it may be blind"
        with ground.database.connect(autocommit=False) as reader:
            reader.execute("SELECT * FROM jobs")
            clockwork.jobs["watch"]()
            time.sleep(0.06)
            clockwork.jobs["watch"]()
            assert ground.database.value(VACUUMING, {}) == 1, "who reads does not wait"
            reader.rollback()
        waiter = ground.database.connect(application_name="ddl")
        waiter.pgconn.send_query(b"ALTER TABLE jobs SET (fillfactor = 80)")
        waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = %s"
        wait_until(lambda: ground.database.value(waits, [waiter.info.backend_pid]) == 1, what="it waits")
        time.sleep(0.06)
        clockwork.jobs["watch"]()
        wait_until(lambda: ended, 1, "ended")
    [end] = ended
    assert (end.fate, end.reason) == (VacuumFate.CANCELLED, f"session {waiter.info.backend_pid} waited for it (ddl)")


def test_a_round_of_the_collection_leaves_room_for_a_look_between_its_statements(database: Database) -> None:
    create_field_table(database)
    seen = collection_of(database)
    connection = seen.collector.session.connection()
    looks: list[tuple[float, TransactionStatus]] = []
    connection.between = lambda: looks.append((time.monotonic(), connection.info.transaction_status))
    began = time.monotonic()
    seen.healthy()
    ended = time.monotonic()
    assert {status for _, status in looks} == {TransactionStatus.IDLE}
    assert len(looks) > len(PROBES)
    moments = [began, *(at for at, _ in looks), ended]
    print(f"longest gap of {ended - began:.3f} s: {max(b - a for a, b in pairwise(moments)):.3f} s")  # noqa: T201


def test_nothing_is_cancelled_once_the_vacuum_is_over(ground: Ground) -> None:
    clockwork: Any = _Clockwork()
    ground.probes.connection()
    watch = Watching(ground.probes, ground.leadership, clockwork, "probes")
    connection = ground.maintenance.connection()
    with watch.over(ground.table, connection.info.backend_pid) as watched:
        assert not watched.cancelled_for()
        look = clockwork.jobs["watch"]
    waiter = ground.database.connect()
    with connection.transaction():
        connection.execute("LOCK TABLE jobs IN SHARE UPDATE EXCLUSIVE MODE")
        waiter.pgconn.send_query(b"ALTER TABLE jobs SET (fillfactor = 80)")
        waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = %s"
        wait_until(lambda: ground.database.value(waits, [waiter.info.backend_pid]) == 1, what="it waits")
        with meanwhile(connection.execute, "SELECT pg_sleep(0.3)") as done:
            time.sleep(0.1)  # it runs, and a look that came too early would see nothing
            look()
        assert done, "it was not cancelled"
