"""A table that is locked, a database that is gone, a role that may do less than before."""

from __future__ import annotations

import time
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.collecting import collection_of
from tests.support.jobs import create_field_table

if TYPE_CHECKING:
    import psycopg

    from tests.support.database import Database

READ = ("jobs", "jobs_exact", "oldest_ready_age_seconds", "leases", "oldest_expired_lease_seconds")


def _holder(database: Database) -> psycopg.Connection[Any]:
    holder = database.connect(autocommit=False)
    holder.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
    return holder


def _queued(database: Database) -> tuple[psycopg.Connection[Any], Thread]:
    """A session that reads the table, and behind it an ALTER TABLE that waits."""
    reader = database.connect(autocommit=False)
    reader.execute("SELECT FROM jobs LIMIT 1")
    altering = database.connect()
    waiting = Thread(target=altering.execute, args=("ALTER TABLE jobs ADD COLUMN another int",))
    waiting.start()
    queued = "SELECT count(*) FROM pg_locks WHERE relation = 'jobs'::regclass AND NOT granted"
    while not database.value(queued):
        time.sleep(0.01)
    return reader, waiting


@pytest.mark.case("M1")
@pytest.mark.parametrize("queued", [False, True])
def test_a_locked_table_costs_a_fraction_of_a_second_and_its_values_are_gone_until_it_is_free(
    database: Database,
    queued: bool,  # noqa: FBT001
) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (queue, status) VALUES ('a', 'pending'), ('a', 'running')")
    seen = collection_of(database).healthy()
    looked_at = seen.value("collection_timestamp_seconds")
    assert seen.value("up") == 1

    waiting = None
    if queued:
        holder, waiting = _queued(database)
    else:
        holder = _holder(database)
    began = time.monotonic()
    failures = seen.collect().failures
    assert time.monotonic() - began < 2
    assert {failure.probe for failure in failures} >= {"jobs", "leases"}
    assert not any(failure.lost for failure in failures)
    assert [name for name in READ if seen.values(name)] == []
    assert seen.value("up") == 0
    assert seen.value("probe_success", "jobs") == 0
    assert seen.value("collection_timestamp_seconds") == looked_at
    assert database.value("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'pgq-ops/%%'", []) == 1

    holder.rollback()
    if waiting is not None:
        waiting.join()
    # At the very next cycle: a look that a lock kept from happening has cost nothing.
    seen.clock.seconds -= 599.9
    seen.healthy()
    assert [name for name in READ if not seen.values(name)] == []
    assert seen.value("up") == 1


@pytest.mark.case("M4")
def test_while_the_database_is_away_nothing_of_it_is_exported_and_afterwards_all_is_back(database: Database) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (queue, status) VALUES ('a', 'pending')")
    seen = collection_of(database).healthy()
    ended = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'pgq-ops/probes'"
    database.server.execute(f'ALTER DATABASE "{database.name}" ALLOW_CONNECTIONS false')
    database.execute(ended)
    for _ in range(2):
        gone = seen.collect()
        assert not gone.reached
        assert gone.findings == ()
        assert [name for name in READ if seen.values(name)] == []
        assert seen.value("up") == 0
        assert set(seen.values("probe_success").values()) == {0.0}
    database.server.execute(f'ALTER DATABASE "{database.name}" ALLOW_CONNECTIONS true')
    seen.healthy()
    assert seen.jobs("a") == {"ready": 1}
    assert seen.value("up") == 1
    seen.collector.session.close()


@pytest.mark.case("M4")
def test_a_session_that_was_ended_is_noticed_also_when_no_look_is_due(database: Database) -> None:
    create_field_table(database)
    seen = collection_of(database).healthy()
    shared = seen.collector._shared
    assert shared is not None
    for runs, probes in (
        (seen.collector._tables["jobs"].runs, seen.collector.probes),
        (shared.runs, seen.collector.database_probes),
    ):
        for probe in probes:
            runs.pace.looked(probe.name, 1_000.0)
    assert seen.collect().reached
    database.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'pgq-ops/probes'"
    )
    assert not seen.collect().reached
    assert [name for name in READ if seen.values(name)] == []
    seen.healthy()
    assert seen.value("up") == 1
    seen.collector.session.close()


def test_one_probe_that_fails_does_not_stop_the_others(database: Database, make_role: Any) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (queue, status) VALUES ('a', 'running')")
    role = make_role("reader")
    database.execute(f"GRANT SELECT ON jobs TO {role}")
    seen = collection_of(database, role=role).healthy()
    database.execute(
        f"REVOKE SELECT ON jobs FROM {role}; GRANT SELECT (id, status, queue, lease_until, created_at) ON jobs TO {role}"
    )
    failed = {failure.probe for failure in seen.collect().failures}
    assert "jobs" in failed
    assert "leases" not in failed
    assert seen.leases("a") == {"missing": 1}
