"""Whose rights a change needs: the owner's, for the change alone; what is missing is told, and the rest goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pgq_ops.binding import catalog
from pgq_ops.errors import NotPermitted
from pgq_ops.schema.grants import apply, plan
from pgq_ops.schema.tier import Tier
from pgq_ops.tasks.autovacuum.setting_outcome import SettingFate
from tests.support.storage import PARTITIONED, Storage, made, options

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

THRESHOLD = {"autovacuum_vacuum_threshold": "500"}
STATEMENT = 'ALTER TABLE ONLY "public"."jobs_1" SET (autovacuum_vacuum_threshold = 500);'


def granted(database: Database, role: str, *tiers: Tier, owner: str | None = None) -> None:
    """The job table is the owner's, the role has the tiers' rights."""
    if owner is not None:
        database.execute("; ".join(f"ALTER TABLE {name} OWNER TO {owner}" for name in ("jobs", "jobs_1", "jobs_2")))
    admin = database.connect()
    assert apply(admin, plan(admin, role, [Storage.of(database).table], tiers)).error is None


def test_the_tier_tune_sets_and_puts_back_as_the_owner_and_is_itself_again(
    database: Database, make_role: Roles
) -> None:
    made(database, PARTITIONED)
    owner, role = make_role("owner", "NOLOGIN"), make_role("agent")
    granted(database, role, Tier.TUNE, owner=owner)
    storage = Storage.of(database, role=role, owner_role=owner)
    assert storage.apply("jobs_1").fate is SettingFate.CHANGED
    assert options(database, "jobs_1")[0]
    who = "SELECT current_user, current_setting('role')"
    assert storage.connection.execute(who).fetchall() == [(role, "none")]
    assert storage.revert()[0].fate is SettingFate.CHANGED
    assert options(database, "jobs_1") == (None, None)
    assert storage.connection.execute(who).fetchall() == [(role, "none")]


def test_without_the_owners_rights_the_grant_and_the_statement_are_told_and_other_leaves_go_on(
    database: Database, make_role: Roles, pg_major: int
) -> None:
    made(database, PARTITIONED)
    owner, role = make_role("owner", "NOLOGIN"), make_role("agent")
    granted(database, role, Tier.TUNE, owner=owner)
    database.execute(f"REVOKE {owner} FROM {role}; ALTER TABLE jobs_2 OWNER TO {role}")
    storage = Storage.of(database, role=role)
    outcome = storage.apply("jobs_1", THRESHOLD)
    assert outcome.fate is SettingFate.NOT_PERMITTED
    assert outcome.reason.startswith(f"role {role} may not change it: its owner is {owner}; grant that role")
    option = " WITH INHERIT FALSE, SET TRUE" if pg_major >= 16 else ""
    assert outcome.grant == f'GRANT "{owner}" TO "{role}"{option};'
    assert outcome.statement == STATEMENT
    assert storage.apply("jobs_2", THRESHOLD).fate is SettingFate.CHANGED
    assert [table for table, *_ in storage.kept()] == ["jobs_2"]
    database.execute(f"{outcome.statement} {outcome.grant}")
    assert options(database, "jobs_1")[0] == ["autovacuum_vacuum_threshold=500"]


def test_a_role_that_cannot_be_taken_is_told(database: Database, make_role: Roles) -> None:
    made(database, PARTITIONED)
    owner, role = make_role("owner", "NOLOGIN"), make_role("agent")
    granted(database, role, Tier.TUNE, owner=owner)
    database.execute(f"REVOKE {owner} FROM {role}")
    outcome = Storage.of(database, role=role, owner_role=owner).apply("jobs_1", THRESHOLD)
    assert outcome.fate is SettingFate.NOT_PERMITTED
    assert f'permission denied to set role "{owner}"' in outcome.reason
    assert outcome.statement == STATEMENT


def test_a_role_that_is_not_the_owner_either_is_told(database: Database, make_role: Roles) -> None:
    made(database, PARTITIONED)
    owner, role = make_role("owner", "NOLOGIN"), make_role("agent")
    granted(database, role, Tier.TUNE, owner=owner)
    database.execute("ALTER TABLE jobs_1 OWNER TO CURRENT_USER")
    outcome = Storage.of(database, role=role, owner_role=owner).apply("jobs_1", THRESHOLD)
    assert outcome.fate is SettingFate.NOT_PERMITTED
    assert "jobs_1" in outcome.reason
    assert outcome.statement == STATEMENT


def test_membership_in_a_superuser_is_not_advised(database: Database, make_role: Roles) -> None:
    made(database, PARTITIONED)
    role = make_role("agent")
    granted(database, role, Tier.TUNE)
    outcome = Storage.of(database, role=role).apply("jobs_1", THRESHOLD)
    assert outcome.fate is SettingFate.NOT_PERMITTED
    assert outcome.reason.endswith(", a superuser")
    assert (outcome.grant, outcome.statement) == ("", STATEMENT)


def test_without_the_right_to_keep_the_old_values_nothing_is_set(database: Database, make_role: Roles) -> None:
    made(database, PARTITIONED)
    owner, role = make_role("owner", "NOLOGIN"), make_role("agent")
    granted(database, role, Tier.RETIRE, owner=owner)
    storage = Storage.of(database, role=role, owner_role=owner)
    with pytest.raises(NotPermitted) as refused:
        storage.apply("jobs_1", THRESHOLD)
    assert refused.value.remedy == f'GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE pgq_ops.setting TO "{role}";'
    assert options(database, "jobs_1") == (None, None)
    assert storage.planned() == ()
    database.execute(refused.value.remedy)
    assert storage.apply("jobs_1", THRESHOLD).fate is SettingFate.CHANGED


def test_on_a_standby_nothing_is_tried(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = made(database, PARTITIONED)
    here = catalog.server(storage.connection)
    monkeypatch.setattr(catalog, "server", lambda _: replace(here, in_recovery=True))
    for act in (storage.apply, storage.revert):
        with pytest.raises(NotPermitted, match="this server is a standby, where nothing can be changed"):
            act()
