"""Installing the pgq_ops schema."""

from __future__ import annotations

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import psycopg
import pytest

from pgq_ops.demo.binaries import find_binaries
from pgq_ops.errors import NotInstalled, NotPermitted, PgqOpsError
from pgq_ops.schema import versions as versions_module
from pgq_ops.schema.history import retries_writable
from pgq_ops.schema.versions import install, installed, newest, pending, require, script, versions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.schema.versions import Version
    from tests.support.database import Database
    from tests.support.roles import Roles


@pytest.fixture
def connection(database: Database) -> Connection:
    return database.connect()


def tables(database: Database) -> list[str]:
    query = (
        "SELECT relname::text FROM pg_class WHERE relnamespace = 'pgq_ops'::regnamespace AND relkind = 'r' ORDER BY 1"
    )
    return [name for (name,) in database.rows(query)]


def script_of(some: Sequence[Version]) -> list[str]:
    """The statements that install these versions alone."""
    return [versions_module._bootstrap(), *(version.step() for version in some)]


def test_versions_are_numbered_without_gaps() -> None:
    assert [version.number for version in versions()] == list(range(1, newest() + 1))


def test_a_database_without_the_schema_has_no_version_and_what_needs_it_says_what_to_run(
    connection: Connection,
) -> None:
    assert installed(connection) is None
    with pytest.raises(NotInstalled, match="reaping without an attempts column needs the schema pgq_ops"):
        require(connection, "reaping without an attempts column")


def test_installing_makes_the_tables_and_installing_again_changes_nothing(
    connection: Connection, database: Database
) -> None:
    assert install(connection) == versions()
    assert installed(connection) == newest()
    require(connection)
    assert tables(database) == ["finding", "finding_change", "reap_log", "schema_version", "setting", "task", "watch"]
    database.execute("INSERT INTO pgq_ops.reap_log (table_oid, job, outcome) VALUES (1, '7', 'requeued')")
    when = database.rows("SELECT version, installed_at FROM pgq_ops.schema_version")

    assert install(connection) == ()
    assert database.rows("SELECT version, installed_at FROM pgq_ops.schema_version") == when
    assert database.value("SELECT count(*) FROM pgq_ops.reap_log") == 1


def test_the_reap_log_takes_only_the_outcomes_that_there_are(connection: Connection, database: Database) -> None:
    install(connection)
    insert = "INSERT INTO pgq_ops.reap_log (table_oid, job, outcome) VALUES (1, '7', %s)"
    for other in ("conflict", "done", ""):
        with pytest.raises(psycopg.errors.CheckViolation):
            database.execute(insert, [other])
    outcomes = [("requeued",), ("dead_lettered",), ("retried",)]
    for (outcome,) in outcomes:
        database.execute(insert, [outcome])
    assert database.rows("SELECT outcome FROM pgq_ops.reap_log ORDER BY id") == outcomes
    assert database.value("SELECT bool_and(at <= now()) FROM pgq_ops.reap_log")


def test_version_1_is_upgraded_with_all_that_it_remembers(connection: Connection, database: Database) -> None:
    first, *later = versions()
    for statement in script_of([first]):
        database.execute(statement)
    assert installed(connection) == 1
    database.execute("INSERT INTO pgq_ops.reap_log (table_oid, job, outcome) VALUES (1, '7', 'requeued')")
    assert not retries_writable(connection)
    with pytest.raises(NotInstalled, match=f"needs version {newest()} of the schema pgq_ops, and 1 is installed"):
        require(connection)
    assert install(connection) == tuple(later)
    assert retries_writable(connection)
    database.execute("INSERT INTO pgq_ops.reap_log (table_oid, job, outcome) VALUES (1, '7', 'retried')")
    assert database.rows("SELECT outcome FROM pgq_ops.reap_log ORDER BY id") == [("requeued",), ("retried",)]


def test_a_half_finished_installation_is_taken_up_again(connection: Connection, database: Database) -> None:
    database.execute("CREATE SCHEMA pgq_ops")
    assert installed(connection) is None
    assert install(connection) == versions()
    made = ", ".join(f"pgq_ops.{name}" for name in tables(database) if name != "schema_version")
    database.execute(f"DELETE FROM pgq_ops.schema_version; DROP TABLE {made}")
    assert installed(connection) is None
    assert install(connection) == versions()
    assert installed(connection) == newest()


def test_an_older_version_is_told_as_such(connection: Connection, database: Database) -> None:
    install(connection)
    database.execute("DELETE FROM pgq_ops.schema_version; INSERT INTO pgq_ops.schema_version VALUES (0, 'old')")
    with pytest.raises(NotInstalled, match=f"needs version {newest()} of the schema pgq_ops, and 0 is installed"):
        require(connection)


def test_a_schema_newer_than_the_package_is_refused_and_left_alone(connection: Connection, database: Database) -> None:
    install(connection)
    database.execute("INSERT INTO pgq_ops.schema_version VALUES (999, 'from the future')")
    with pytest.raises(PgqOpsError, match="upgrade pgq-ops"):
        pending(connection)
    with pytest.raises(PgqOpsError, match="upgrade pgq-ops"):
        install(connection)
    require(connection)


def test_many_installers_at_once_end_with_one_schema(database: Database) -> None:
    connections = [database.connect() for _ in range(6)]
    for connection in connections:
        connection.execute("SET lock_timeout = '100ms'")
    with ThreadPoolExecutor(len(connections)) as pool:
        list(pool.map(install, connections))
    assert database.value("SELECT count(*) FROM pgq_ops.schema_version") == len(versions())


def test_an_installer_waits_for_another_beyond_the_lock_timeout_of_its_session(
    connection: Connection, database: Database
) -> None:
    other = database.connect(autocommit=False)
    other.execute("SELECT pg_advisory_xact_lock(%s)", [int.from_bytes(b"pgq-ops")])
    connection.execute("SET lock_timeout = '1ms'")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(install, connection)
        while not database.value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"):
            assert not waiting.done()
        other.commit()
        assert waiting.result() == versions()
    assert connection.execute("SHOW lock_timeout").fetchone() == ("1ms",)


def test_the_script_runs_in_psql_twice_and_gives_the_same_schema(connection: Connection, database: Database) -> None:
    packaged = find_binaries().bin / "psql"
    psql = str(packaged) if packaged.exists() else shutil.which("psql")
    if psql is None:
        pytest.skip("there is no psql on this machine")
    for _ in range(2):
        command = [psql, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", f"--dbname={database.dsn}"]
        subprocess.run(command, input=script(), text=True, check=True, capture_output=True)
    assert installed(connection) == newest()
    assert install(connection) == ()


def test_a_role_that_may_not_create_schemas_is_told_so_and_nothing_is_written(
    database: Database, make_role: Roles
) -> None:
    role = make_role("nobody")
    with pytest.raises(NotPermitted, match="could not install the schema pgq_ops: permission denied for database"):
        install(database.connect(user=role))
    assert database.value("SELECT count(*) FROM pg_namespace WHERE nspname = 'pgq_ops'") == 0


def test_a_role_that_owns_a_schema_made_by_an_administrator_needs_no_right_on_the_database(
    database: Database, make_role: Roles
) -> None:
    role = make_role("installer")
    database.execute(f"CREATE SCHEMA pgq_ops AUTHORIZATION {role}")
    assert install(database.connect(user=role)) == versions()


def test_a_role_without_rights_on_the_installed_schema_is_told_the_grant(
    connection: Connection, database: Database, make_role: Roles
) -> None:
    install(connection)
    role = make_role("stranger")
    stranger = database.connect(user=role)
    with pytest.raises(NotPermitted, match=f'GRANT USAGE ON SCHEMA pgq_ops TO "{role}"'):
        installed(stranger)
    database.execute(f"GRANT USAGE ON SCHEMA pgq_ops TO {role}; GRANT SELECT ON pgq_ops.schema_version TO {role}")
    assert installed(stranger) == newest()
