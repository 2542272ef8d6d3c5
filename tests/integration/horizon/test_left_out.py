"""Sessions that show a snapshot and hold nothing, or hold only for a while; what else is left out."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.stats import horizon, transactions
from tests.support.agent import wait_until
from tests.support.database import unique
from tests.support.vacuuming import Ground, begun

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg

    from tests.support.database import Database

ACTIVE = "SELECT backend_xmin IS NOT NULL, wait_event_type FROM pg_stat_activity WHERE application_name = %s AND state = 'active'"


@pytest.fixture
def ground(database: Database) -> Ground:
    return Ground(database)


def sent(database: Database, name: str, statement: str, *settings: str) -> psycopg.Connection[Any]:
    """A session that is at a statement, and is not waited for."""
    connection = database.connect(application_name=name)
    for setting in settings:
        connection.execute(setting.encode())
    connection.pgconn.send_query(statement.encode())
    return connection


def named(ground: Ground) -> list[str]:
    return [holder.name for holder in ground.holders()]


@pytest.mark.case("V7")
def test_a_vacuum_that_runs_holds_nothing_though_it_shows_a_snapshot(ground: Ground) -> None:
    ground.database.execute("CREATE TABLE big (n int) WITH (autovacuum_enabled = off)")
    ground.database.execute("INSERT INTO big SELECT generate_series(1, 20000)")
    slow = ("SET vacuum_cost_delay = '100ms'", "SET vacuum_cost_limit = 1")
    vacuum = sent(ground.database, "vacuum", "VACUUM big", *slow)
    running = "SELECT count(*) FROM pg_stat_progress_vacuum WHERE pid = %s"
    wait_until(lambda: ground.database.value(running, [vacuum.info.backend_pid]) == 1)
    assert ground.database.rows(ACTIVE, ["vacuum"])[0][0] is True
    ground.change()
    assert named(ground) == []
    ground.agree(kept=0)
    assert transactions.read(ground.database.connect()).sessions == ()
    assert ground.database.value(running, [vacuum.info.backend_pid]) == 1, "it ran all the while"
    vacuum.cancel()


@pytest.mark.case("V7")
@pytest.mark.parametrize(
    ("statement", "holds"),
    [("VACUUM t", False), ("vacuum (analyze) t", False), ("VACUUM (FULL) t", True), ("ANALYZE t", True)],
)
def test_of_maintenance_that_waits_for_its_lock_a_plain_vacuum_holds_nothing(
    ground: Ground,
    statement: str,
    holds: bool,  # noqa: FBT001
) -> None:
    ground.database.execute("CREATE TABLE other (n int) WITH (autovacuum_enabled = off)")
    # It holds a lock, and nothing back.
    locker = begun(ground.database, "locker", "LOCK TABLE other IN SHARE UPDATE EXCLUSIVE MODE")
    waiting = sent(ground.database, "waiting", statement.replace(" t", " other"))
    wait_until(lambda: ground.database.rows(ACTIVE, ["waiting"]) == [(True, "Lock")])
    ground.change()
    assert named(ground) == (["waiting"] if holds else [])
    ground.agree(kept=5 if holds else 0)
    waiting.cancel()
    locker.rollback()


@pytest.mark.case("V7")
def test_a_concurrent_index_build_holds_while_it_reads_and_not_while_it_waits(ground: Ground) -> None:
    """It is told as a holder, which it is, and as no client's long transaction."""
    ground.database.execute("""
        CREATE TABLE other (n int) WITH (autovacuum_enabled = off);
        INSERT INTO other VALUES (1);
        CREATE FUNCTION slowly(n int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep(60); RETURN n; END $$
    """)
    locker = begun(ground.database, "locker", "LOCK TABLE other IN ROW EXCLUSIVE MODE")
    building = sent(ground.database, "building", "CREATE INDEX CONCURRENTLY slow ON other (slowly(n))")
    waits = "SELECT phase FROM pg_stat_progress_create_index WHERE pid = %s"
    pid = [building.info.backend_pid]
    wait_until(lambda: ground.database.rows(waits, pid) == [("waiting for writers before build",)])
    ground.change()
    assert named(ground) == []
    ground.agree(kept=0)
    locker.rollback()
    wait_until(lambda: ground.database.value(waits, pid).startswith("building index"))
    ground.change(4)
    assert named(ground) == ["building"]
    assert transactions.read(ground.database.connect()).sessions == ()
    ground.agree(kept=4)
    building.cancel()


def test_parallel_workers_are_their_leader(ground: Ground) -> None:
    ground.database.execute("CREATE TABLE big AS SELECT generate_series(1, 20000) AS n; ANALYZE big")
    parallel = (
        "SET max_parallel_workers_per_gather = 2",
        "SET parallel_setup_cost = 0",
        "SET parallel_tuple_cost = 0",
        "SET min_parallel_table_scan_size = 0",
    )
    leader = sent(ground.database, "query", "SELECT count(pg_sleep(60)) FROM big", *parallel)
    workers = "SELECT count(*) FROM pg_stat_activity WHERE leader_pid = %s AND backend_xmin IS NOT NULL"
    wait_until(lambda: ground.database.value(workers, [leader.info.backend_pid]) == 2)
    ground.change()
    assert [(holder.pid, holder.xid_age) for holder in ground.holders()] == [(leader.info.backend_pid, 5)]
    ground.agree(kept=5)
    leader.cancel()


def test_the_session_that_looks_is_no_holder_even_in_a_transaction_of_its_own(ground: Ground) -> None:
    looking = begun(ground.database, "us", "UPDATE t SET n = n WHERE id = 1", repeatable=True)
    assert horizon.read(looking).holders == ()


@pytest.fixture
def slot(database: Database) -> Iterator[str]:
    """The name for a slot, on a server that keeps no WAL for slots."""
    name = unique("slot")
    database.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'")
    database.execute("SELECT pg_reload_conf()")
    yield name
    database.execute("ALTER SYSTEM RESET max_slot_wal_keep_size")
    database.execute("SELECT pg_reload_conf()")
    database.execute(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", [name]
    )


def make_slot_that_holds(ground: Ground, slot: str) -> None:
    """A slot as a standby leaves it that tells what its sessions have to see, and goes away."""
    at, xid = ground.database.rows(
        "SELECT pg_current_wal_lsn()::text, pg_snapshot_xmax(pg_current_snapshot())::text::int"
        " FROM pg_create_physical_replication_slot(%s, true)",
        [slot],
    )[0]
    standby = ground.database.connect(replication="true")
    standby.pgconn.send_query(f"START_REPLICATION SLOT {slot} PHYSICAL {at}".encode())
    assert standby.pgconn.get_result() is not None
    # Hot standby feedback: time, xmin, its epoch, catalog_xmin, its epoch (protocol-replication.html).
    standby.pgconn.put_copy_data(b"h" + struct.pack(">QIIII", 0, xid, 0, 0, 0))
    standby.pgconn.flush()
    wait_until(lambda: ground.database.value("SELECT xmin FROM pg_replication_slots WHERE slot_name = %s", [slot]))
    standby.close()
    wait_until(lambda: [holder.state for holder in ground.holders()] == ["inactive"])


def test_a_slot_whose_wal_was_given_up_holds_nothing_more(ground: Ground, slot: str) -> None:
    make_slot_that_holds(ground, slot)
    ground.change()
    assert named(ground) == [slot]
    ground.agree(kept=5)
    for _ in range(3):
        ground.database.execute("SELECT pg_switch_wal()")
        ground.change(1)
    ground.database.execute("CHECKPOINT")
    lost = "SELECT xmin IS NOT NULL AND wal_status = 'lost' FROM pg_replication_slots WHERE slot_name = %s"
    assert ground.database.value(lost, [slot]) is True
    assert named(ground) == []
    ground.agree(kept=0)
