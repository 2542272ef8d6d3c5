"""Whoever may create operators in a schema on the search path decides what `=` means: docs/security.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.schema.grants import apply, plan
from pgq_ops.schema.tier import Tier
from tests.support.binding import bind_toml
from tests.support.collecting import collection_of
from tests.support.jobs import FIELD, FIELD_TABLE, reap

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

# Better than the built-in one for a varchar column, for that one is for text.
TRAP = """
    CREATE FUNCTION public.trap(varchar, varchar) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'sprung by %', current_user;
    END $$;
    CREATE OPERATOR public.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = public.trap)
"""
QUALIFIED = FIELD.replace('table = "jobs"', 'table = "public.jobs"')


@pytest.fixture
def trapped(database: Database, make_role: Roles) -> tuple[Database, str]:
    """A database in whose schema public somebody has set a trap, and a role of tier reap."""
    database.execute(FIELD_TABLE.replace("status text", "status varchar(20)"))
    database.execute("INSERT INTO jobs (status, lease_until) VALUES ('running', now() - interval '1 minute')")
    role = make_role("agent")
    table = bind_toml(database, QUALIFIED).table
    assert apply(database.connect(), plan(database.connect(), role, [table], [Tier.REAP])).error is None
    database.execute(TRAP)
    return database, role


def test_a_role_that_looks_for_names_in_pg_catalog_alone_steps_into_no_trap(trapped: tuple[Database, str]) -> None:
    database, role = trapped
    database.execute(f"ALTER ROLE {role} SET search_path = pg_catalog")
    assert collection_of(database, QUALIFIED, role=role).collect().failures == ()
    assert reap(database, QUALIFIED, role=role).requeued == 1


def test_the_trap_is_one(trapped: tuple[Database, str]) -> None:
    database, role = trapped
    failures = collection_of(database, QUALIFIED, role=role).collect().failures
    assert any(f"sprung by {role}" in str(failure.error) for failure in failures)
