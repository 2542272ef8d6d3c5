"""Finding job tables without a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.binding.bind import bind
from pgq_ops.binding.discovery import discover
from pgq_ops.config.model import Database as DatabaseConfig
from tests.support.article_tables import LEASE_TABLE, STARTED_AT_TABLE

if TYPE_CHECKING:
    from tests.support.database import Database


def test_tables_that_have_every_column_of_a_preset_are_found_and_bind(database: Database) -> None:
    database.execute(LEASE_TABLE)
    database.execute(STARTED_AT_TABLE)
    database.execute('CREATE SCHEMA "Ops-Q"; CREATE TABLE "Ops-Q"."Jobs, 2%" (LIKE demo_queue_jobs INCLUDING ALL)')
    connection = database.connect()
    found = discover(connection)
    assert {name: config.preset for name, config in found.items()} == {
        "Jobs, 2%": "lease",
        "demo_queue_jobs": "lease",
        "jobs": "started-at",
    }
    for name, config in found.items():
        assert bind(connection, name, config, DatabaseConfig()).table.has_lease
        assert not config.requested_tasks


def test_the_same_name_in_two_schemas_is_told_apart(database: Database) -> None:
    database.execute(LEASE_TABLE)
    database.execute("CREATE SCHEMA other; CREATE TABLE other.demo_queue_jobs (LIKE demo_queue_jobs INCLUDING ALL)")
    assert set(discover(database.connect())) == {"other.demo_queue_jobs", "public.demo_queue_jobs"}


def test_a_table_that_lacks_a_column_or_is_a_partition_is_not_guessed_at(database: Database) -> None:
    database.execute(LEASE_TABLE)
    database.execute("ALTER TABLE demo_queue_jobs DROP COLUMN claim_version")
    database.execute("CREATE TABLE users (id int, status text, attempts int)")
    assert discover(database.connect()) == {}
