"""What a plan (`reap --dry-run`) asks of the role: SELECT, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.errors import ConfigError, NotInstalled, NotPermitted
from pgq_ops.schema.versions import install
from pgq_ops.tasks.reap import Reap
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

EXPIRED = """
    INSERT INTO jobs (status, lease_until, attempts) VALUES ('running', now() - interval '1 m', 1),
        ('running', now() - interval '1 m', 99), ('running', now() + interval '1 m', 1)
"""
WITHOUT_ATTEMPTS = FIELD.replace('attempts = "attempts"\nmax_attempts = "max_attempts"\n', "")


def reader(database: Database, make_role: Roles) -> str:
    create_field_table(database)
    database.execute(EXPIRED)
    role = make_role("reader")
    database.execute(f"GRANT SELECT ON jobs TO {role}")
    return role


def test_a_role_that_only_reads_sees_what_a_pass_would_do(database: Database, make_role: Roles) -> None:
    role = reader(database, make_role)
    bound = bind_toml(database, FIELD, role=role, read_only=True)
    plan = Reap().plan(bound.connection, bound.table)
    assert (plan.requeued, plan.dead_lettered, plan.remaining) == (1, 1, 2)
    with pytest.raises(NotPermitted, match="UPDATE"):
        Reap().run(bound.connection, bound.table, lambda: True)


def test_a_dead_letter_table_asks_for_nothing_more(database: Database, make_role: Roles) -> None:
    role = reader(database, make_role)
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    bound = bind_toml(database, FIELD + 'dead_letter_table = "dead_jobs"\n', role=role, read_only=True)
    assert Reap().plan(bound.connection, bound.table).dead_lettered == 1


def test_where_the_log_counts_the_attempts_the_plan_reads_it_and_says_so_where_it_cannot(
    database: Database, make_role: Roles
) -> None:
    role = reader(database, make_role)
    bound = bind_toml(database, WITHOUT_ATTEMPTS, role=role, read_only=True)
    with pytest.raises(NotInstalled, match="pgq-ops install"):
        Reap().plan(bound.connection, bound.table)
    install(database.connect())
    with pytest.raises(NotInstalled, match="pgq-ops grants"):
        Reap().plan(bound.connection, bound.table)
    database.execute(f"GRANT USAGE ON SCHEMA pgq_ops TO {role}; GRANT SELECT ON pgq_ops.reap_log TO {role}")
    assert Reap().plan(bound.connection, bound.table).requeued == 2


def test_a_table_that_cannot_be_reaped_has_no_plan(database: Database, make_role: Roles) -> None:
    role = reader(database, make_role)
    observed = FIELD[: FIELD.index("[job_tables.jobs.reaper]")].replace('lease_expires_at = "lease_until"\n', "")
    bound = bind_toml(database, observed, role=role, read_only=True)
    with pytest.raises(ConfigError, match="no column tells when a lease ends"):
        Reap().plan(bound.connection, bound.table)
