"""A mapped payload that the role may not read, as the recommended grants leave it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.errors import NotPermitted
from pgq_ops.schema.grants import apply, plan
from pgq_ops.schema.tier import Tier
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table, reap

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

COLUMN = '"secret"'
EXPRESSION = """{ sql = "secret::text || '!'" }"""


def mapping(payload: str) -> str:
    return FIELD.replace('error = "last_error"', f'error = "last_error"\npayload = {payload}')


@pytest.mark.parametrize("payload", [COLUMN, EXPRESSION], ids=["column", "expression"])
def test_a_payload_that_may_not_be_read_is_unused_with_a_note_and_the_jobs_are_reaped(
    database: Database, make_role: Roles, payload: str
) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD COLUMN secret jsonb")
    database.execute("INSERT INTO jobs (status, lease_until, attempts) VALUES ('running', now() - interval '1 m', 1)")
    role, toml = make_role("agent"), mapping(payload)
    admin = database.connect()
    apply(admin, plan(admin, role, [bind_toml(database, toml).table], [Tier.REAP]))
    assert not database.value("SELECT has_column_privilege(%s, 'jobs', 'secret', 'SELECT')", [role])
    bound = bind_toml(database, toml, role=role)
    assert "payload" not in bound.table.fields
    [note] = [note for note in bound.notes if "payload" in note]
    assert "may not read" in note
    assert reap(database, toml, role=role).requeued == 1


@pytest.mark.parametrize("payload", [COLUMN, EXPRESSION], ids=["column", "expression"])
def test_a_payload_that_may_be_read_is_used_without_a_note(database: Database, make_role: Roles, payload: str) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD COLUMN secret jsonb")
    role, toml = make_role("agent"), mapping(payload)
    admin = database.connect()
    apply(admin, plan(admin, role, [bind_toml(database, toml).table], [Tier.OBSERVE], payload=True))
    bound = bind_toml(database, toml, role=role)
    assert "payload" in bound.table.fields
    assert bound.notes == ()


def test_a_column_is_named_once_in_what_must_be_granted(database: Database, make_role: Roles) -> None:
    create_field_table(database)
    with pytest.raises(NotPermitted) as caught:
        bind_toml(database, FIELD, role=make_role("agent"))
    assert str(caught.value).splitlines()[0].count(" id,") == 1
    assert caught.value.remedy.count('"id"') == 1
