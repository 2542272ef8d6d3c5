"""Triggers that take a change back, policies on writing, children by INHERITS, no way to count, a locked log."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pgq_ops.errors import ConfigError, NotPermitted
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table, reap, statuses

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

DEAD = "CREATE TABLE dead_jobs (LIKE jobs INCLUDING DEFAULTS)"
MOVING = FIELD + 'dead_letter_table = "dead_jobs"\n'


def strand(database: Database, number: int, table: str = "jobs", lease: str = "now() - interval '1 m'") -> None:
    database.execute(
        f"INSERT INTO {table} (status, lease_until, attempts)"
        f" SELECT 'running', {lease}, 1 FROM generate_series(1, {number})"
    )


@pytest.mark.case("R14")
@pytest.mark.parametrize("toml", [FIELD, MOVING], ids=["in place", "with a dead-letter table"])
def test_a_trigger_that_takes_the_change_back_is_told_as_one_that_swallows_it(database: Database, toml: str) -> None:
    create_field_table(database)
    database.execute(DEAD)
    strand(database, 20)
    database.execute("""
        CREATE FUNCTION take_back() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF old.id > 5 THEN RETURN old; END IF; RETURN new; END $$;
        CREATE TRIGGER take_back BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION take_back();
    """)
    result = reap(database, toml)
    assert (result.requeued, result.conflicts, result.swallowed) == (5, 15, 15)
    assert statuses(database) == {"pending": 5, "running": 15}


@pytest.mark.case("R15")
@pytest.mark.parametrize(
    ("toml", "policy"),
    [
        (FIELD, "FOR UPDATE TO {} USING (queue = 'mine')"),
        (FIELD, "FOR UPDATE TO {} USING (true) WITH CHECK (queue = 'mine')"),
        (MOVING, "FOR UPDATE TO {} USING (true)"),
    ],
    ids=["rows", "changes", "deletes"],
)
def test_policies_that_let_jobs_be_seen_and_not_written_are_an_error(
    database: Database, make_role: Roles, toml: str, policy: str
) -> None:
    create_field_table(database)
    database.execute(DEAD)
    strand(database, 1)
    role = make_role("reaper", "LOGIN")
    database.execute(f"""
        GRANT SELECT, UPDATE, DELETE ON jobs TO {role};
        GRANT INSERT, SELECT ON dead_jobs TO {role};
        ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
        CREATE POLICY seen ON jobs FOR SELECT TO {role} USING (true);
        CREATE POLICY written ON jobs {policy.format(role)};
    """)
    with pytest.raises(NotPermitted, match=r"CREATE POLICY .* USING \(true\) WITH CHECK \(true\)"):
        reap(database, toml, role=role)
    database.execute(f"CREATE POLICY pgq_ops ON jobs TO {role} USING (true) WITH CHECK (true)")
    assert reap(database, toml, role=role).requeued == 1


@pytest.mark.case("R16")
@pytest.mark.parametrize("toml", [FIELD, MOVING], ids=["in place", "with a dead-letter table"])
def test_the_same_id_in_a_table_and_its_child_is_two_jobs(database: Database, toml: str) -> None:
    create_field_table(database)
    database.execute(DEAD)
    database.execute(
        "CREATE TABLE jobs_child () INHERITS (jobs); CREATE INDEX ON jobs_child (id) WHERE status = 'running'"
    )
    strand(database, 4)
    expired = "now() - interval '1 m'"
    database.execute(
        "INSERT INTO jobs_child (id, status, lease_until, attempts)"
        f" VALUES (1, 'running', {expired}, 1), (2, 'running', {expired}, 9), (3, 'running', {expired}, 1),"
        " (4, 'running', now() + interval '1 m', 1)"
    )
    with database.connect(autocommit=False) as worker:
        worker.execute("SELECT FROM ONLY jobs_child WHERE id = 3 FOR UPDATE")
        result = reap(database, toml + "batch_size = 3\n")
    assert (result.requeued, result.dead_lettered, result.locked, result.conflicts) == (5, 1, 0, 0)
    left = database.rows("SELECT id, tableoid::regclass::text FROM jobs WHERE status = 'running' ORDER BY 1")
    assert left == [(3, "jobs_child"), (4, "jobs_child")]


def test_attempts_that_nothing_could_count_are_refused_before_any_job_is_requeued_for_ever(database: Database) -> None:
    create_field_table(database)
    toml = "\n".join(line for line in FIELD.splitlines() if not line.startswith(("attempts =", "max_attempts =")))
    bind_toml(database, toml)
    database.execute("ALTER TABLE jobs DROP CONSTRAINT jobs_pkey")
    with pytest.raises(ConfigError, match="primary key"):
        bind_toml(database, toml)


def test_jobs_are_given_back_while_somebody_holds_the_log(database: Database) -> None:
    create_field_table(database)
    install = [sys.executable, "-m", "pgq_ops", "install", "--yes"]
    subprocess.run(install, env=os.environ | {"PGQ_OPS_DSN": database.dsn}, check=True, capture_output=True)
    strand(database, 20)
    with database.connect(autocommit=False) as holder:
        holder.execute("LOCK TABLE pgq_ops.reap_log IN ACCESS EXCLUSIVE MODE")
        result = reap(database)
    assert (result.requeued, result.busy) == (20, ())
    strand(database, 5)
    reap(database)
    assert database.value("SELECT count(*) FROM pgq_ops.reap_log") == 5
