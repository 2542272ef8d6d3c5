"""A server that crashes forgets what it counted: then nobody knows how many dead rows there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.demo.server import EmbeddedServer
from tests.support.agent import wait_until
from tests.support.database import Database
from tests.support.postgres import Server, _memory
from tests.support.table_health import COLUMNS, health, leaf, probe, told, vacuum, write

if TYPE_CHECKING:
    from collections.abc import Iterator

OFF = f"CREATE TABLE jobs ({COLUMNS}, PRIMARY KEY (id)) WITH (autovacuum_enabled = off)"
FILL = "INSERT INTO jobs SELECT i, 'pending' FROM generate_series(1, 1000) AS i"
CHURN = "UPDATE jobs SET attempts = 1 WHERE id <= 700"
KNOWN = ("live_tuples", "dead_tuples", "vacuum_due_ratio", "last_vacuum_timestamp_seconds")


@pytest.fixture(scope="module")
def crashing() -> Iterator[EmbeddedServer]:
    """A server of these tests' own; its autovacuum comes every second."""
    with EmbeddedServer({"fsync": "off", "autovacuum_naptime": 1}, parent=_memory()) as embedded:
        yield embedded


@pytest.fixture
def doomed(crashing: EmbeddedServer) -> Iterator[Database]:
    """A database on it."""
    database = Database(Server(crashing.dsn(), crashing.binaries.major, crashing))
    yield database
    database.drop()


def crash(server: EmbeddedServer, database: Database) -> None:
    """End the server without letting it write down what it counted, and start it again."""
    database._connection().close()
    server.kill()
    server.start()


def reset(database: Database) -> None:
    """Let the database forget what it counted."""
    database.execute("SELECT pg_stat_reset()")
    left = "SELECT count(*) FROM pg_stat_user_tables WHERE n_tup_ins > 0 OR last_analyze IS NOT NULL"
    wait_until(lambda: database.value(left) == 0, 10, "the reset")


def test_autovacuum_comes_for_more_dead_rows_than_the_threshold_and_not_for_as_many(doomed: Database) -> None:
    parameters = "autovacuum_vacuum_scale_factor = 0.2, autovacuum_vacuum_threshold = 40"
    doomed.execute(f"CREATE TABLE jobs ({COLUMNS}) WITH ({parameters}, autovacuum_enabled = off)")
    doomed.execute(f"CREATE TABLE jobs_more ({COLUMNS}) WITH ({parameters}, autovacuum_enabled = off)")
    for name in ("jobs", "jobs_more"):
        write(doomed, FILL.replace("jobs", name))
    told(doomed, 2_000)
    for name in ("jobs", "jobs_more"):
        vacuum(doomed, f"VACUUM ANALYZE {name}")
    seen = probe(doomed)
    assert leaf(seen).vacuum_threshold == 240
    write(doomed, "UPDATE jobs SET attempts = 1 WHERE id <= 240")
    write(doomed, "UPDATE jobs_more SET attempts = 1 WHERE id <= 241")
    told(doomed, 2_000 + 240 + 241)
    assert leaf(seen).due_ratio == 1
    for name in ("jobs", "jobs_more"):
        doomed.execute(f"ALTER TABLE {name} SET (autovacuum_enabled = on)")
    vacuumed = "SELECT autovacuum_count FROM pg_stat_user_tables WHERE relname = %s"
    wait_until(lambda: doomed.value(vacuumed, ["jobs_more"]) == 1, 30, "autovacuum came to the one")
    # The next visit finds the other one as this visit did.
    analyzed = "SELECT count(*) FROM pg_stat_user_tables WHERE last_autoanalyze IS NOT NULL"
    wait_until(lambda: doomed.value(analyzed) == 2, 30, "autovacuum looked at both")
    assert doomed.value(vacuumed, ["jobs"]) == 0
    found = leaf(seen)
    assert (found.dead_rows, found.last_autovacuum) == (240, None)


def test_after_a_crash_the_rows_are_unknown_until_somebody_vacuums_or_analyzes(
    crashing: EmbeddedServer, doomed: Database
) -> None:
    doomed.execute(OFF)
    doomed.execute(f"CREATE TABLE unused ({COLUMNS})")
    write(doomed, FILL)
    told(doomed, 1_000)
    vacuum(doomed)
    write(doomed, CHURN)
    told(doomed, 1_700)
    seen = probe(doomed)
    assert health(seen).dead_rows == 700

    seen.collector.session.close()
    crash(crashing, doomed)
    for looks in (seen, probe(doomed)):  # an agent that watched, and one that comes new
        found = health(looks)
        assert found.statistics_lost
        assert [looks.value(name) for name in KNOWN] == [None] * 4
        assert looks.value("vacuum_threshold_tuples") == 250
        assert looks.finding("statistics-lost").severity == "info"
    assert seen.value("updated_rows_total") == 0
    write(doomed, "UPDATE jobs SET attempts = 2 WHERE id <= 10")
    told(doomed, 10)
    assert health(seen).dead_rows is None
    assert seen.finding("statistics-lost").severity == "warning"
    assert seen.value("updated_rows_total") == 10

    assert seen.finding("statistics-lost").remedy == 'VACUUM (ANALYZE, TRUNCATE off) "public"."jobs";'
    vacuum(doomed, seen.finding("statistics-lost").remedy)
    found = health(seen)
    assert (found.statistics_lost, found.live_rows, found.dead_rows) == (False, 1_000, 0)
    assert "statistics-lost" not in seen.finding_ids()
    seen.collector.session.close()


def test_after_a_restart_in_order_they_are_known(crashing: EmbeddedServer, doomed: Database) -> None:
    doomed.execute(OFF)
    write(doomed, FILL)
    told(doomed, 1_000)
    vacuum(doomed)
    write(doomed, CHURN)
    told(doomed, 1_700)
    doomed._connection().close()
    crashing.restart()
    found = health(probe(doomed))
    assert (found.statistics_lost, found.dead_rows) == (False, 700)


def test_autovacuum_that_is_off_on_the_server_is_a_finding_whose_remedy_turns_it_on(doomed: Database) -> None:
    doomed.execute(f"CREATE TABLE jobs ({COLUMNS})")
    doomed.execute("ALTER SYSTEM SET autovacuum = off")
    seen = probe(doomed)

    def is_on() -> bool:
        return leaf(seen).autovacuum_enabled

    doomed.execute("SELECT pg_reload_conf()")
    wait_until(lambda: not is_on(), 10, "autovacuum is off")
    finding = seen.finding("autovacuum-off")
    assert "the whole server (autovacuum = off)" in finding.summary
    for statement in finding.remedy.splitlines():
        doomed.execute(statement)
    wait_until(is_on, 10, "autovacuum is on")
    assert "autovacuum-off" not in seen.finding_ids()


def test_a_reset_is_a_loss_for_who_watched_and_for_who_comes_new(doomed: Database) -> None:
    doomed.execute(OFF)
    write(doomed, FILL)
    told(doomed, 1_000)
    watching = probe(doomed)
    assert health(watching).live_rows == 1_000
    reset(doomed)
    assert health(watching).statistics_lost
    assert health(probe(doomed)).statistics_lost
    vacuum(doomed, "ANALYZE jobs")
    assert health(watching).live_rows == 1_000
    reset(doomed)
    assert health(probe(doomed)).statistics_lost


def test_a_table_that_was_emptied_before_the_crash_is_unknown_too(crashing: EmbeddedServer, doomed: Database) -> None:
    doomed.execute(OFF)
    write(doomed, FILL)
    write(doomed, "DELETE FROM jobs")
    told(doomed, 2_000)
    vacuum(doomed, "VACUUM jobs")
    crash(crashing, doomed)
    assert health(probe(doomed)).statistics_lost


def test_new_tables_are_not_taken_for_lost_ones(database: Database) -> None:
    database.execute(f"CREATE TABLE jobs ({COLUMNS}, PRIMARY KEY (id))")
    seen = probe(database)
    assert (health(seen).statistics_lost, seen.value("dead_tuples")) == (False, 0)
    write(database, FILL)
    told(database, 1_000)
    database.execute("CREATE INDEX ON jobs (status)")
    assert database.value("SELECT reltuples FROM pg_class WHERE relname = 'jobs'") == 1_000
    assert (health(probe(database)).statistics_lost, health(seen).live_rows) == (False, 1_000)


def test_on_a_standby_nothing_is_counted_and_nothing_is_lost(crashing: EmbeddedServer, doomed: Database) -> None:
    doomed.execute(OFF)
    write(doomed, FILL)
    told(doomed, 1_000)
    vacuum(doomed)
    doomed._connection().close()
    crashing.stop()
    signal = crashing.folder.data / "standby.signal"
    signal.touch()
    try:
        crashing.start()
        seen = probe(doomed)
        found = health(seen)
        assert found.server.standby
        assert [seen.value(name) for name in (*KNOWN, "updated_rows_total")] == [None] * 5
        assert (found.statistics_lost, seen.value("vacuum_threshold_tuples")) == (False, 250)
        assert (seen.value("table_bytes") or 0) > 0
        assert seen.finding_ids() == set()
    finally:
        crashing.stop()
        signal.unlink()
        crashing.start()


def test_where_nothing_is_counted_nothing_is_known(doomed: Database) -> None:
    doomed.execute(f"CREATE TABLE jobs ({COLUMNS})")
    write(doomed, FILL)
    told(doomed, 1_000)
    doomed.execute(f'ALTER DATABASE "{doomed.name}" SET track_counts = off')
    seen = probe(doomed)
    found = health(seen)
    assert (found.live_rows, found.dead_rows, found.statistics_lost) == (None, None, False)
    assert seen.value("inserted_rows_total") is None
    assert "track_counts = off" in seen.finding("autovacuum-off").summary


@pytest.mark.parametrize("rows", [1, 1_000])
def test_a_table_that_no_analyze_has_seen_has_lost_its_statistics_too(
    crashing: EmbeddedServer, doomed: Database, rows: int
) -> None:
    doomed.execute(OFF)
    write(doomed, FILL.replace("1000", str(rows)))
    write(doomed, CHURN)
    crash(crashing, doomed)
    doomed.execute("SELECT pg_stat_clear_snapshot()")
    seen = probe(doomed)
    found = health(seen)
    assert doomed.rows("SELECT reltuples FROM pg_class WHERE relname = 'jobs'") == [(-1,)]
    assert (found.statistics_lost, found.live_rows, found.dead_rows) == (True, None, None)
    assert (found.table_bytes, found.index_bytes) == (None, None)
    absent = (*KNOWN, "table_bytes", "index_bytes")
    assert [seen.values(name) for name in absent] == [{}] * len(absent)
    assert "statistics-lost" in seen.finding_ids()
    doomed.execute("ANALYZE jobs")
    wait_until(lambda: health(seen).live_rows == rows, 10, "the analyze")
    assert not health(seen).statistics_lost


def test_a_new_table_has_lost_nothing_while_it_is_empty_and_while_it_is_loaded(doomed: Database) -> None:
    doomed.execute(OFF)
    seen = probe(doomed)
    found = health(seen)
    assert (found.statistics_lost, found.live_rows, found.dead_rows, found.table_bytes) == (False, 0, 0, 0)
    loading = doomed.connect(autocommit=False)
    loading.execute(FILL.encode())
    found = health(seen)
    assert (found.statistics_lost, found.live_rows, found.table_bytes) == (False, None, None)
    loading.commit()
    loading.close()
    wait_until(lambda: health(seen).live_rows == 1_000, 10, "the counters")


def test_a_new_table_that_is_locked_keeps_nobody_waiting(doomed: Database) -> None:
    doomed.execute(OFF)
    seen = probe(doomed)
    locking = doomed.connect(autocommit=False)
    locking.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
    found = health(seen)
    assert (found.statistics_lost, found.live_rows) == (False, None)
    locking.close()
