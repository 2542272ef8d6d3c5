"""The demo's database: the job table of preset `lease`, and the record beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg

from pgq_ops.demo.statements import statement
from pgq_ops.schema.versions import install

if TYPE_CHECKING:
    from pgq_ops.demo.server import EmbeddedServer

DATABASE = "demo"
JOB_TABLE_STATEMENTS = ("create_jobs", "create_pending_index", "create_running_index", "create_failed_index")
RECORD_STATEMENTS = (
    "create_record",
    "create_record_job_index",
    "create_record_end_index",
    "create_recovery_function",
    "create_recovery_trigger",
)


def make_database(server: EmbeddedServer) -> psycopg.Connection[Any]:
    """Create it on the server, with its tables and the schema pgq_ops; returns a connection in autocommit mode."""
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {DATABASE}")
    connection = psycopg.connect(server.dsn(DATABASE), autocommit=True, application_name="pgq-ops demo")
    make_tables(connection)
    install(connection)
    return connection


def make_tables(connection: psycopg.Connection[Any]) -> None:
    """Create the job table and the record."""
    for name in (*JOB_TABLE_STATEMENTS, *RECORD_STATEMENTS):
        connection.execute(statement(name), {})
