"""What is remembered of settings: the value from before pgq-ops came, of the very table, as long as it is of use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.schema import settings
from pgq_ops.schema.versions import install
from pgq_ops.tasks.autovacuum.setting_outcome import SettingFate
from tests.support.binding import bind_toml
from tests.support.jobs import SMALL
from tests.support.storage import PARTITIONED, PLAIN, WANTED, Storage, made, options, relation_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.database import Database
    from tests.support.roles import Roles

THRESHOLD = {"autovacuum_vacuum_threshold": "500"}
BY_THE_DBA = "ALTER TABLE jobs SET (autovacuum_vacuum_threshold = 100)"
COLUMNS = "job_table, job_table_oid, job_table_schema, job_table_name, table_oid, row_type, table_schema, table_name, parameter, old_value, set_value, order_before, saved_at, set_at, ended_at, ending, host, pid, ledger"


def test_our_own_value_is_never_taken_for_the_one_before(database: Database) -> None:
    storage = made(database)
    database.execute(BY_THE_DBA)
    for value in ("500", "600", "500"):
        storage.apply(wanted={"autovacuum_vacuum_threshold": value})
        assert storage.kept() == [("jobs", "autovacuum_vacuum_threshold", "100", value)]
    [(saved, changed)] = database.rows("SELECT saved_at, set_at FROM pgq_ops.setting")
    assert saved < changed
    storage.revert()
    assert options(database)[0] == ["autovacuum_vacuum_threshold=100"]


def test_what_the_dba_set_since_becomes_the_value_before_when_it_is_set_again(database: Database) -> None:
    storage = made(database)
    storage.apply(wanted=THRESHOLD)
    database.execute(BY_THE_DBA)
    storage.apply(wanted=THRESHOLD)
    assert storage.kept() == [("jobs", "autovacuum_vacuum_threshold", "100", "500")]
    database.execute("ALTER TABLE jobs RESET (autovacuum_vacuum_threshold)")
    storage.apply(wanted={"autovacuum_vacuum_threshold": "600"})
    assert storage.kept() == [("jobs", "autovacuum_vacuum_threshold", None, "600")]
    storage.revert()
    assert options(database) == (None, None)


def test_after_a_revert_the_value_of_then_is_saved_anew_and_the_past_is_kept(database: Database) -> None:
    storage = made(database)
    storage.apply(wanted=THRESHOLD)
    storage.revert()
    database.execute(BY_THE_DBA)
    storage.apply(wanted=THRESHOLD)
    assert database.rows("SELECT old_value, ending FROM pgq_ops.setting ORDER BY id") == [
        (None, "reverted"),
        ("100", None),
    ]
    storage.revert()
    assert options(database)[0] == ["autovacuum_vacuum_threshold=100"]


def test_ours_tells_what_pgq_ops_set_on_the_leaves_by_their_oids(database: Database) -> None:
    storage = made(database, PARTITIONED)
    storage.apply("jobs_1")
    storage.apply("jobs_2", THRESHOLD)
    first, second = (relation_of(database, name).oid for name in ("jobs_1", "jobs_2"))
    found = settings.ours(storage.connection, storage.table)
    assert found == {(first, name): value for name, value in WANTED.items()} | {
        (second, "autovacuum_vacuum_threshold"): "500"
    }
    assert settings.readable(storage.connection, storage.table)[second, "autovacuum_vacuum_threshold"].old_value is None


def test_ours_is_empty_without_the_schema_and_without_the_right_to_read_it(
    database: Database, make_role: Roles
) -> None:
    database.execute(PLAIN)
    bound = bind_toml(database, SMALL, read_only=True)
    assert settings.ours(bound.connection, bound.table) == {}
    made(database, "SELECT 1").apply(wanted=THRESHOLD)
    assert settings.ours(bound.connection, bound.table) != {}
    role = make_role("reader")
    database.execute(f"GRANT SELECT ON jobs TO {role}")
    reader = bind_toml(database, SMALL, role=role, read_only=True)
    assert settings.ours(reader.connection, reader.table) == {}
    database.execute(f"GRANT USAGE ON SCHEMA pgq_ops TO {role}")
    assert settings.ours(reader.connection, reader.table) == {}
    database.execute(f"GRANT SELECT ON pgq_ops.setting TO {role}")
    assert settings.ours(reader.connection, reader.table) != {}


def test_a_later_table_with_the_same_oid_is_another_table(database: Database) -> None:
    storage = made(database)
    database.execute(BY_THE_DBA)
    storage.apply(wanted=THRESHOLD)
    # As if the table had been dropped, and this one had got its oid.
    database.execute("UPDATE pgq_ops.setting SET row_type = 1")
    assert settings.ours(storage.connection, storage.table) == {}
    assert storage.planned() == ()
    outcome = storage.carry_out(storage.plan(wanted={"autovacuum_vacuum_threshold": "600"}))
    assert outcome.fate is SettingFate.CHANGED
    assert storage.kept() == [("jobs", "autovacuum_vacuum_threshold", "500", "600")]


def test_tables_that_are_gone_are_forgotten_and_so_is_what_ended_thirty_days_ago(database: Database) -> None:
    storage = made(database, PARTITIONED)
    storage.apply("jobs_1", THRESHOLD)
    storage.apply("jobs_2", THRESHOLD)
    storage.revert(leaves=[relation_of(database, "jobs_2").oid])
    database.execute("DROP TABLE jobs_1")
    settings.tidy(storage.connection)
    assert database.rows("SELECT table_name FROM pgq_ops.setting") == [("jobs_2",)]
    for age, left in (("29 days 23 hours", 1), ("30 days 1 minute", 0)):
        database.execute("UPDATE pgq_ops.setting SET ended_at = now() - %s::interval", [age])
        settings.tidy(storage.connection)
        assert database.value("SELECT count(*) FROM pgq_ops.setting") == left


def restored(database: Database, copy: Database, ddl: str) -> None:
    """The copy has the tables of the DDL with the parameters of today, and what is remembered, as from a dump."""
    copy.execute("CREATE TABLE padding (id int)")
    copy.execute(ddl)
    for name in ("jobs_1", "jobs_2"):
        own, toasted = options(database, name)
        listed = [*(own or ()), *(f"toast.{one}" for one in toasted or ())]
        if listed:
            copy.execute(f"ALTER TABLE {name} SET ({', '.join(listed)})")
    install(copy.connect())
    with (
        database.connect() as source,
        copy.connect() as target,
        source.cursor().copy(f"COPY pgq_ops.setting ({COLUMNS}) TO STDOUT".encode()) as out,
        target.cursor().copy(f"COPY pgq_ops.setting ({COLUMNS}) FROM STDIN".encode()) as into,
    ):
        for data in out:
            into.write(data)


def test_in_a_database_restored_from_a_dump_the_tables_are_found_by_their_names(
    database: Database, make_database: Callable[[], Database]
) -> None:
    storage = made(database, PARTITIONED)
    database.execute("ALTER TABLE jobs_1 SET (autovacuum_vacuum_threshold = 100, fillfactor = 70)")
    before = options(database, "jobs_1")
    storage.apply("jobs_1")
    storage.apply("jobs_2")
    copy = make_database()
    restored(database, copy, PARTITIONED)
    copy.execute("ALTER TABLE jobs_2 RENAME TO renamed; CREATE TABLE jobs_2 (id int)")
    there = Storage.of(copy)
    first = relation_of(copy, "jobs_1")
    assert {oid for oid, _ in settings.ours(there.connection, there.table)} == {
        first.oid,
        relation_of(copy, "jobs_2").oid,
    }
    [planned, _] = there.planned()
    assert planned.relation == first
    there.apply("jobs_1", {"autovacuum_vacuum_threshold": "600"})
    assert ("jobs_1", "autovacuum_vacuum_threshold", "100", "600") in there.kept()
    there.revert()
    assert options(copy, "jobs_1") == before
    assert there.kept() == []


@pytest.mark.parametrize("same", [True, False], ids=["the same oids", "other oids"])
def test_what_is_remembered_of_another_databases_oids_is_of_no_table_here(
    database: Database,
    same: bool,  # noqa: FBT001
) -> None:
    storage = made(database)
    storage.apply(wanted=THRESHOLD)
    database.execute("UPDATE pgq_ops.setting SET ledger = 1, table_name = 'elsewhere'")
    if not same:
        database.execute("UPDATE pgq_ops.setting SET table_oid = 1, row_type = 1, job_table_oid = 1")
    assert storage.planned() == storage.revert() == ()
    assert options(database)[0] == ["autovacuum_vacuum_threshold=500"]
    assert database.value("SELECT count(*) FROM pgq_ops.setting") == 0


def test_what_somebody_else_writes_there_changes_no_parameter_that_is_none_of_ours(database: Database) -> None:
    storage = made(database)
    database.execute("ALTER TABLE jobs SET (autovacuum_enabled = on, fillfactor = 70)")
    storage.apply(wanted=THRESHOLD)
    forged = "INSERT INTO pgq_ops.setting ({}) SELECT {} FROM pgq_ops.setting LIMIT 1"
    for parameter, value, old in (("autovacuum_enabled", "on", "off"), ("fillfactor", "70", "10), RESET (fillfactor")):
        given = {"parameter": f"'{parameter}'", "old_value": f"'{old}'", "set_value": f"'{value}'"}
        columns = COLUMNS.split(", ")
        database.execute(forged.format(COLUMNS, ", ".join(given.get(name, name) for name in columns)))
    storage.revert()
    assert options(database)[0] == ["autovacuum_enabled=on", "fillfactor=70"]
