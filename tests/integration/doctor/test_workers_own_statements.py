"""Which statements are the workers' and which are pgq-ops' own; and what a text of another encoding keeps back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from pgq_ops.checks.production import claim_in_one_statement, fenced_completion
from pgq_ops.stats import claim_statements
from tests.support.article_tables import LEASE_CLAIM, LEASE_TABLE
from tests.support.binding import LEASE, bind_toml
from tests.support.database import unique
from tests.support.doctor_points import doctor
from tests.support.jobs import FIELD, create_field_table, reap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.database import Database
    from tests.support.roles import Roles

JOB = {"worker": "w", "lease_seconds": 60, "job": 1, "version": 1}
QUOTED_CLAIM = """
    UPDATE "public"."demo_queue_jobs" AS j SET status = 'running', claim_version = j.claim_version + 1
    WHERE j.id = (SELECT k.id FROM "demo_queue_jobs" AS k WHERE k.status = 'pending' LIMIT 1 FOR UPDATE SKIP LOCKED)
"""
QUOTED_COMPLETE = 'UPDATE "public"."demo_queue_jobs" AS j SET status = \'done\' WHERE j.id = 1 AND j.claim_version = 2'
MARKED = """
    WITH taken AS (SELECT id AS pgq_ops_key FROM jobs WHERE status = 'running' FOR UPDATE SKIP LOCKED LIMIT 1)
    UPDATE jobs SET status = 'pending' FROM taken WHERE id = pgq_ops_key
"""


@pytest.fixture
def counted(database: Database) -> Database:
    """A database whose statements are counted, with the lease table and that of the field cases."""
    database.execute("CREATE EXTENSION pg_stat_statements")
    database.execute(LEASE_TABLE)
    create_field_table(database)
    return database


@pytest.fixture
def unreadable(counted: Database) -> Iterator[str]:
    """The name of another database, which has run a statement with bytes that are no UTF-8."""
    name = unique('latin "quoted"')
    quoted = '"' + name.replace('"', '""') + '"'
    encoding = "ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'"
    counted.server.execute(f"CREATE DATABASE {quoted} TEMPLATE template0 {encoding}")
    try:
        with psycopg.connect(counted.server.dsn_of(name), autocommit=True) as connection:
            connection.execute(b'SELECT 1 AS "caf\xe9"')
        yield name
    finally:
        counted.execute(
            "SELECT pg_stat_statements_reset(0, (SELECT oid FROM pg_database WHERE datname = %s), 0)", [name]
        )
        counted.server.execute(f"DROP DATABASE {quoted} WITH (FORCE)")


def claims_counted(database: Database, toml: str, role: str | None = None) -> int:
    bound = bind_toml(database, toml, read_only=True, role=role)
    return claim_statements.read(bound.connection, bound.table).calls


def test_workers_that_quote_names_and_call_the_table_j_are_seen(counted: Database) -> None:
    for statement in (QUOTED_CLAIM, QUOTED_COMPLETE):
        counted.execute(statement)
    one = doctor(counted, LEASE)
    assert one.passed(claim_in_one_statement) == "1 claim seen, by 1 statement"
    assert one.passed(fenced_completion) == "1 completion seen"
    assert claims_counted(counted, LEASE) == 1


def test_under_the_workers_own_role_theirs_are_told_from_ours(counted: Database, make_role: Roles) -> None:
    role = make_role("app", member_of=("pg_monitor",))
    counted.execute(f'GRANT SELECT, INSERT, UPDATE ON demo_queue_jobs, jobs TO "{role}"')
    worker = counted.connect(user=role)
    worker.execute(LEASE_CLAIM, JOB)
    counted.execute("INSERT INTO jobs (status, lease_until) VALUES ('running', now() - interval '1 m')")
    assert reap(counted, role=role).requeued == 1
    assert "1 claim seen" in doctor(counted, LEASE, role=role).passed(claim_in_one_statement)
    assert "no claim of public.jobs" in doctor(counted, FIELD, role=role).unknown(claim_in_one_statement)
    assert claims_counted(counted, FIELD, role) == 0


def test_our_mark_alone_hides_no_statement_of_another_role(counted: Database, make_role: Roles) -> None:
    worker, observer = make_role("worker"), make_role("observer", member_of=("pg_monitor",))
    counted.execute(f'GRANT SELECT, UPDATE ON jobs TO "{worker}"; GRANT SELECT ON jobs TO "{observer}"')
    session = counted.connect(user=worker)
    session.execute(MARKED)
    assert "1 claim seen" in doctor(counted, FIELD, role=observer).passed(claim_in_one_statement)
    assert claims_counted(counted, FIELD, observer) == 1
    other = counted.connect(user=worker, application_name="pgq-ops/leader")  # an agent that runs as that role
    assert "no claim" in doctor(counted, FIELD, role=observer).unknown(claim_in_one_statement)
    other.close()


def test_one_text_of_another_encoding_is_told_with_what_forgets_it(counted: Database, unreadable: str) -> None:
    counted.execute(QUOTED_CLAIM)
    for point in (claim_in_one_statement, fenced_completion):
        verdict = doctor(counted, LEASE).verdict(point)
        assert verdict.outcome == "unknown"
        assert "has a text that this database's encoding cannot show" in verdict.text
    bound = bind_toml(counted, LEASE, read_only=True)
    why_not = claim_statements.read(bound.connection, bound.table).why_not
    assert "has a text that this database's encoding cannot show" in why_not
    forget, prevent = doctor(counted, LEASE).verdict(claim_in_one_statement).remedy.splitlines()
    assert forget in why_not
    counted.execute(forget)
    counted.execute(prevent)
    with psycopg.connect(counted.server.dsn_of(unreadable), autocommit=True) as connection:
        connection.execute(b'SELECT 2 AS "caf\xe9"')
    assert doctor(counted, LEASE).passed(claim_in_one_statement) == "1 claim seen, by 1 statement"
