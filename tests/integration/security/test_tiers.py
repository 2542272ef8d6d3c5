"""A role with one tier's rights, and no more, at every command; and all that such a role may do by the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.schema.grants import apply, plan
from pgq_ops.schema.tier import Tier
from pgq_ops.schema.versions import install
from tests.support.binding import bind_toml
from tests.support.inside import run_inside

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database
    from tests.support.roles import Roles

JOBS = """
    CREATE TABLE jobs (
        id bigint PRIMARY KEY, payload jsonb NOT NULL DEFAULT '{}', secret text, status text NOT NULL,
        available_at timestamptz NOT NULL DEFAULT now(), lease_until timestamptz, claimed_by text,
        claim_version bigint NOT NULL DEFAULT 0, attempts integer NOT NULL DEFAULT 0,
        created_at timestamptz NOT NULL DEFAULT now()
    ) PARTITION BY RANGE (id);
    CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM (0) TO (100);
    CREATE TABLE unrelated (id int);
    INSERT INTO jobs (id, status, attempts, lease_until, claimed_by)
    VALUES (1, 'running', 1, now() - interval '1 minute', 'gone'), (2, 'pending', 0, NULL, NULL)
"""
TOML = '[job_tables.emails]\ntable = "jobs"\npreset = "lease"\n[job_tables.emails.columns]\npayload = "payload"\n'
MAPPED = {"id", "status", "available_at", "lease_until", "claimed_by", "claim_version", "attempts", "created_at"}
WRITTEN = {"status", "available_at", "lease_until", "claimed_by"}
# Each with its exit code; those that act come last.
READING: dict[tuple[str, ...], int] = {
    ("config", "check"): 0,
    ("config", "show"): 0,
    ("inspect",): 0,
    ("inspect", "--json"): 0,
    ("why", "1"): 0,
    ("why", "2", "--json"): 0,
    ("metrics",): 0,
    ("reap", "--dry-run"): 0,
    ("install", "--sql"): 0,
    ("install", "--dry-run", "--yes"): 0,
    ("grants", "{role}", "--sql", "--tier", "reap"): 0,
    ("grants", "{role}", "--dry-run", "--json", "--tier", "reap"): 0,
}
PRIVILEGES = ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"]
INHERITS_UNTIL = 160_000
# Their roles may become the owner.
OWNING = {Tier.TUNE, Tier.RETIRE}
MAINTAIN_SINCE = 170_000


class Tried:
    """A database with a job table that somebody owns, and a role that has been granted one tier."""

    def __init__(self, database: Database, roles: Roles, tier: Tier) -> None:
        self.database, self.tier = database, tier
        self.owner, self.role = roles("owner", "NOLOGIN"), roles("tried")
        database.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        database.execute(JOBS)
        database.execute(f"ALTER TABLE jobs OWNER TO {self.owner}; ALTER TABLE jobs_1 OWNER TO {self.owner}")
        admin = database.connect()
        install(admin)
        table = bind_toml(database, TOML).table
        assert apply(admin, plan(admin, self.role, [table], [tier])).error is None

    def run(self, *command: str) -> int:
        return run_inside([word.replace("{role}", self.role) for word in command])

    def everything(self) -> dict[str, Any]:
        """All rows, privileges and settings that there are, but for the server's own statistics."""
        queries = {
            "jobs": "SELECT tableoid::regclass, j FROM jobs AS j",
            "relations": "SELECT relname, relowner, relacl, reloptions, relfilenode FROM pg_class",
            "columns": "SELECT attrelid, attname, attacl FROM pg_attribute",
            "schemas": "SELECT nspname, nspacl FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp'",
            "database": "SELECT datacl FROM pg_database WHERE datname = current_database()",
            "members": "SELECT roleid, member FROM pg_auth_members",
            "policies": "SELECT polname FROM pg_policy",
            "pgq_ops": "SELECT task::text FROM pgq_ops.task UNION ALL SELECT log::text FROM pgq_ops.reap_log AS log",
        }
        return {name: sorted(map(str, self.database.rows(query))) for name, query in queries.items()}

    def may(self, relation: str) -> set[str]:
        """What the role may do with a relation as a whole, by whatever way it got there; with GRANT OPTION too."""
        newer = self.database.connect().info.server_version >= MAINTAIN_SINCE
        asked = PRIVILEGES + (["MAINTAIN"] if newer else [])
        asked += [f"{privilege} WITH GRANT OPTION" for privilege in asked]
        query = "SELECT p FROM unnest(%s::text[]) AS p WHERE has_table_privilege(%s, %s::regclass, p)"
        return {privilege for (privilege,) in self.database.rows(query, [asked, self.role, relation])}

    def columns(self, relation: str, privilege: str) -> set[str]:
        """The columns on which it has the privilege, the system's left out."""
        query = """
            SELECT attname::text FROM pg_attribute
            WHERE attrelid = %s::regclass AND attnum > 0 AND has_column_privilege(%s, attrelid, attnum, %s)
        """
        return {name for (name,) in self.database.rows(query, [relation, self.role, privilege])}


@pytest.fixture(params=[Tier.OBSERVE, Tier.REAP, Tier.VACUUM, Tier.TUNE, Tier.RETIRE], ids=str)
def tried(
    request: pytest.FixtureRequest,
    database: Database,
    make_role: Roles,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Tried:
    made = Tried(database, make_role, request.param)
    (tmp_path / "pgq-ops.toml").write_text(TOML, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGQ_OPS_DSN", database.dsn_as(made.role))
    return made


def test_every_tier_can_read_all_that_commands_read_and_changes_nothing_by_it(
    tried: Tried, capfd: pytest.CaptureFixture[str]
) -> None:
    before = tried.everything()
    for command, code in READING.items():
        assert (command, tried.run(*command)) == (command, code), capfd.readouterr()
    assert tried.everything() == before


def test_only_the_tier_reap_can_reap_and_it_changes_nothing_but_the_expired_job(
    tried: Tried, capfd: pytest.CaptureFixture[str]
) -> None:
    inherits = tried.tier in OWNING and tried.database.connect().info.server_version < INHERITS_UNTIL
    before = tried.everything()
    code = tried.run("reap", "--yes")
    after = tried.everything()
    if tried.tier is not Tier.REAP and not inherits:
        assert code == 3
        assert "GRANT UPDATE" in capfd.readouterr().err
        assert after == before
        return
    assert code == 0
    assert {name for name in after if after[name] != before[name]} <= {"jobs", "pgq_ops"}
    rows = tried.database.rows("SELECT id, status, claimed_by, payload, secret FROM jobs ORDER BY id")
    assert rows == [(1, "pending", None, {}, None), (2, "pending", None, {}, None)]


def test_no_tier_can_give_itself_more(tried: Tried, capfd: pytest.CaptureFixture[str]) -> None:
    before = tried.everything()
    for tier in (Tier.REAP, Tier.RETIRE):
        tried.run("grants", "{role}", "--yes", "--payload", "--tier", tier)
        assert "Error: " in capfd.readouterr().err
    after = tried.everything()
    inherits = tried.tier in OWNING and tried.database.connect().info.server_version < INHERITS_UNTIL
    assert {name for name in after if after[name] != before[name]} <= ({"relations", "columns"} if inherits else set())


def test_no_tier_can_install_the_schema(tried: Tried, capfd: pytest.CaptureFixture[str]) -> None:
    tried.database.execute("DROP SCHEMA pgq_ops CASCADE")
    assert tried.run("install", "--yes") == 3
    assert "permission denied" in capfd.readouterr().err
    assert tried.database.value("SELECT to_regnamespace('pgq_ops') IS NULL")


def test_by_the_catalog_the_role_may_do_this_and_nothing_else(tried: Tried) -> None:
    if tried.tier in OWNING and tried.database.connect().info.server_version < INHERITS_UNTIL:
        pytest.skip("before PostgreSQL 16 a member of the owner's role has the owner's rights")
    for relation in ("jobs", "jobs_1"):
        newer = tried.database.connect().info.server_version >= MAINTAIN_SINCE
        assert tried.may(relation) == ({"MAINTAIN"} if tried.tier is Tier.VACUUM and newer else set())
        readable, writable = tried.columns(relation, "SELECT"), tried.columns(relation, "UPDATE")
        # Reaping works leaf by leaf; all else goes through the table itself.
        assert readable == (MAPPED if relation == "jobs" or tried.tier is Tier.REAP else set())
        assert writable == (WRITTEN if tried.tier is Tier.REAP else set())
        for privilege in ("INSERT", "REFERENCES", "UPDATE WITH GRANT OPTION", "SELECT WITH GRANT OPTION"):
            assert tried.columns(relation, privilege) == set()
    assert tried.may("unrelated") == set()
    assert tried.columns("unrelated", "SELECT") == set()
    reading, running = {"SELECT"}, {"SELECT", "INSERT", "UPDATE", "DELETE"}
    assert tried.may("pgq_ops.schema_version") == reading
    assert tried.may("pgq_ops.task") == (reading if tried.tier is Tier.OBSERVE else running)
    assert tried.may("pgq_ops.reap_log") == ({"SELECT", "INSERT", "DELETE"} if tried.tier is Tier.REAP else reading)
    assert tried.may("pgq_ops.setting") == (running if tried.tier is Tier.TUNE else reading)
    assert tried.may("pgq_ops.finding") == tried.may("pgq_ops.watch") == running
    assert tried.may("pgq_ops.finding_change") == {"SELECT", "INSERT", "DELETE"}
    for schema in ("public", "pgq_ops"):
        assert not tried.database.value("SELECT has_schema_privilege(%s, %s, 'CREATE')", [tried.role, schema])
    assert not tried.database.value("SELECT has_database_privilege(%s, current_database(), 'CREATE')", [tried.role])
    memberships = "SELECT roleid::regrole::text FROM pg_auth_members WHERE member = %s::regrole"
    expected = {"pg_monitor"} | ({tried.owner} if tried.tier in OWNING else set())
    assert {role for (role,) in tried.database.rows(memberships, [tried.role])} == expected
