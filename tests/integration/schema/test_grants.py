"""The least privileges by tier, tried by a role that has exactly those."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from psycopg import errors

from pgq_ops.errors import ActionFailed, NotPermitted, UsageError
from pgq_ops.schema import versions
from pgq_ops.schema.grants import apply, plan, script
from pgq_ops.schema.table_grants import Grant
from pgq_ops.schema.tier import Tier
from pgq_ops.schema.versions import install, installed, newest
from pgq_ops.stats import leases, task_runs
from pgq_ops.tasks.dead_retry import DeadRetry
from tests.support.binding import bind_toml
from tests.support.jobs import reap
from tests.support.retrying import purge, retry

if TYPE_CHECKING:
    from pathlib import Path

    from pgq_ops.db.connection import Connection
    from tests.support.database import Database
    from tests.support.roles import Roles

COLUMNS = """
    id bigint NOT NULL, payload jsonb NOT NULL DEFAULT '{}', status text NOT NULL DEFAULT 'pending', secret text,
    available_at timestamptz NOT NULL DEFAULT now(), lease_until timestamptz, claimed_by text,
    claim_version bigint NOT NULL DEFAULT 0, attempts integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
"""
JOBS = f"CREATE TABLE jobs ({COLUMNS}, PRIMARY KEY (id))"
PARTITIONED = f"""
    CREATE TABLE jobs ({COLUMNS}, PRIMARY KEY (id)) PARTITION BY RANGE (id);
    CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM (0) TO (100);
    CREATE TABLE jobs_2 PARTITION OF jobs FOR VALUES FROM (100) TO (200)
"""
EXPIRED = """
    INSERT INTO jobs (id, status, attempts, lease_until, claimed_by)
    VALUES (1, 'running', 1, now() - interval '1 minute', 'gone'),
           (101, 'running', 5, now() - interval '1 minute', 'gone'),
           (2, 'running', 1, now() + interval '1 hour', 'alive'), (3, 'pending', 0, NULL, NULL)
"""


EMAILS = """
[job_tables.emails]
table = "jobs"
preset = "lease"
"""


class Setup:
    """A database with a job table, seen by its superuser and by a role."""

    def __init__(self, database: Database, role: str) -> None:
        self.database = database
        self.role = role
        self.admin = database.connect()
        self._connection: Connection | None = None

    def grant(self, *tiers: Tier, toml: str = EMAILS, payload: bool = False) -> str:
        """Grant the tiers and return the script of it."""
        table = bind_toml(self.database, toml).table
        grants = plan(self.admin, self.role, [table], tiers, payload=payload)
        assert apply(self.admin, grants).error is None
        return script(grants)

    def as_role(self) -> Connection:
        if self._connection is None:
            self._connection = self.database.connect(user=self.role)
        return self._connection

    def refused(self, statement: str) -> None:
        """Assert that the role may not run the statement, and that the statement is otherwise in order."""
        with pytest.raises(errors.InsufficientPrivilege):
            self.as_role().execute(statement.encode())
        with self.admin.transaction(force_rollback=True):
            self.admin.execute(statement.encode())


@pytest.fixture
def setup(database: Database, make_role: Roles) -> Setup:
    # On 14 every role may create tables in the schema public.
    database.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    return Setup(database, make_role("agent"))


@pytest.fixture(params=[JOBS, PARTITIONED], ids=["plain", "partitioned"])
def with_jobs(request: pytest.FixtureRequest, setup: Setup) -> Setup:
    setup.database.execute(request.param)
    setup.database.execute(EXPIRED)
    return setup


WRITES = (
    "UPDATE jobs SET status = 'pending' WHERE id = 1",
    "UPDATE jobs SET payload = '[]' WHERE id = 1",
    "UPDATE jobs SET secret = 'x' WHERE id = 1",
    "DELETE FROM jobs WHERE id = 1",
    "INSERT INTO jobs (id) VALUES (9)",
    "TRUNCATE jobs",
    "ALTER TABLE jobs ADD COLUMN more text",
    "CREATE INDEX ON jobs (status)",
    "CREATE TABLE another ()",
    "DROP TABLE jobs CASCADE",
    "SELECT payload FROM jobs",
    "SELECT secret FROM jobs",
    "SELECT * FROM jobs",
)


def test_without_any_grant_the_role_cannot_even_read(with_jobs: Setup) -> None:
    with_jobs.refused("SELECT id FROM jobs")
    with pytest.raises(NotPermitted, match="GRANT SELECT"):
        bind_toml(with_jobs.database, EMAILS, role=with_jobs.role)


def test_observe_reads_jobs_and_leases_in_a_read_only_session(with_jobs: Setup) -> None:
    install(with_jobs.admin)
    with_jobs.grant(Tier.OBSERVE)
    bound = bind_toml(with_jobs.database, EMAILS, role=with_jobs.role, read_only=True)
    connection = bound.connection
    [queue] = leases.read(connection, bound.table).queues
    assert (queue.expired, queue.live) == (2, 1)
    assert task_runs.read(connection, bound.table) == ()
    assert installed(connection) == newest()
    assert connection.execute("SELECT ctid, tableoid, status FROM jobs").rowcount == 4
    assert connection.execute("SELECT pg_has_role('pg_monitor', 'USAGE')").fetchone() == (True,)


def test_observe_changes_nothing_and_reads_no_payload(with_jobs: Setup) -> None:
    install(with_jobs.admin)
    with_jobs.grant(Tier.OBSERVE)
    for statement in WRITES:
        with_jobs.refused(statement)


def test_observe_writes_nothing_into_the_pgq_ops_schema_either(with_jobs: Setup) -> None:
    install(with_jobs.admin)
    with_jobs.grant(Tier.OBSERVE)
    for statement in (
        "INSERT INTO pgq_ops.reap_log (table_oid, job, outcome) VALUES (1, '1', 'requeued')",
        "DELETE FROM pgq_ops.task",
        "CREATE TABLE pgq_ops.another ()",
    ):
        with_jobs.refused(statement)


def test_reap_requeues_and_buries_each_partition_by_itself(with_jobs: Setup) -> None:
    install(with_jobs.admin)
    with_jobs.grant(Tier.REAP)
    result = reap(with_jobs.database, EMAILS, role=with_jobs.role)
    assert (result.requeued, result.dead_lettered) == (1, 1)
    rows = "SELECT id, status, claimed_by FROM jobs ORDER BY id"
    assert with_jobs.database.rows(rows) == [
        (1, "pending", None),
        (2, "running", "alive"),
        (3, "pending", None),
        (101, "failed", "gone"),
    ]
    assert with_jobs.database.value("SELECT count(*) FROM pgq_ops.reap_log") == 2
    leaves = with_jobs.database.rows("SELECT oid::bigint FROM pg_class WHERE relname ~ '^jobs(_.)?$' AND relkind = 'r'")
    may_write = "SELECT has_column_privilege(%s, %s, 'status', 'UPDATE')"
    mine = [with_jobs.database.value(may_write, [with_jobs.role, oid]) for (oid,) in leaves]
    assert mine
    assert all(mine)


def test_reap_can_do_nothing_else(with_jobs: Setup) -> None:
    install(with_jobs.admin)
    with_jobs.grant(Tier.REAP)
    for statement in WRITES[1:]:
        with_jobs.refused(statement)


def test_reap_keeps_and_prunes_its_own_memory_and_not_the_schema_itself(with_jobs: Setup) -> None:
    install(with_jobs.admin)
    with_jobs.grant(Tier.REAP)
    connection = with_jobs.as_role()
    connection.execute("INSERT INTO pgq_ops.reap_log (table_oid, job, outcome) VALUES (1, '1', 'requeued')")
    connection.execute("DELETE FROM pgq_ops.reap_log")
    with_jobs.refused("UPDATE pgq_ops.schema_version SET version = 7 WHERE version = 1")
    with_jobs.refused("UPDATE pgq_ops.reap_log SET outcome = 'requeued'")
    with_jobs.refused("DROP TABLE pgq_ops.task")


def test_buried_jobs_are_moved_with_the_grants_of_a_dead_letter_table(with_jobs: Setup) -> None:
    with_jobs.database.execute("CREATE SCHEMA graves; CREATE TABLE graves.dead_jobs (LIKE jobs)")
    toml = f'{EMAILS}[job_tables.emails.reaper]\ndead_letter_table = "graves.dead_jobs"\n'
    install(with_jobs.admin)
    with_jobs.grant(Tier.REAP, toml=toml)
    result = reap(with_jobs.database, toml, role=with_jobs.role)
    assert (result.requeued, result.dead_lettered) == (1, 1)
    assert with_jobs.database.rows("SELECT id, claimed_by FROM graves.dead_jobs") == [(101, "gone")]
    with_jobs.refused("DELETE FROM graves.dead_jobs")
    with_jobs.refused("UPDATE jobs SET payload = '[]'")


@pytest.mark.parametrize("moving", [False, True], ids=["in place", "moving"])
def test_reap_writes_what_a_burial_alone_writes_only_where_the_tier_lets_it(
    with_jobs: Setup,
    moving: bool,  # noqa: FBT001
) -> None:
    with_jobs.database.execute("ALTER TABLE jobs ADD finished_at timestamptz, ADD history text")
    with_jobs.database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    toml = f'{EMAILS}[job_tables.emails.columns]\nfinished_at = "finished_at"\nerror = "history"\n'
    toml += '[job_tables.emails.reaper]\nattempts_counted_at = "reap"\n'
    toml += 'dead_letter_table = "dead_jobs"\n' if moving else ""
    with_jobs.grant(Tier.REAP, toml=toml)
    result = reap(with_jobs.database, toml, role=with_jobs.role)
    assert (result.requeued, result.dead_lettered) == (1, 1)
    buried = "SELECT id, history LIKE '%%buried%%', now() - finished_at < interval '1 min' FROM {} WHERE id = 101"
    assert with_jobs.database.rows(buried.format("dead_jobs" if moving else "jobs")) == [(101, True, True)]
    [requeued] = with_jobs.database.rows("SELECT status, attempts, finished_at FROM jobs WHERE id = 1")
    assert requeued == ("pending", 2, None)
    if moving:
        with_jobs.refused("UPDATE jobs SET finished_at = now()")
    with_jobs.refused("UPDATE jobs SET payload = '[]'")


def test_dead_retries_and_purges_dead_letters_and_does_nothing_else(with_jobs: Setup, tmp_path: Path) -> None:
    install(with_jobs.admin)
    with_jobs.database.execute("UPDATE jobs SET status = 'failed' WHERE id IN (1, 101)")
    with_jobs.grant(Tier.DEAD)
    assert retry(with_jobs.database, EMAILS, role=with_jobs.role, limit=1).counts.jobs == 1
    assert with_jobs.database.rows("SELECT job, outcome FROM pgq_ops.reap_log") == [("1", "retried")]
    result = purge(with_jobs.database, EMAILS, role=with_jobs.role, file=tmp_path / "dead.jsonl")
    assert (result.counts.jobs, result.exported) == (1, 1)
    for statement in (
        "UPDATE jobs SET payload = '[]'",
        "UPDATE jobs SET secret = 'x'",
        "UPDATE jobs SET id = 9 WHERE id = 1",
        "INSERT INTO jobs (id) VALUES (9)",
        "TRUNCATE jobs",
        "ALTER TABLE jobs ADD COLUMN more text",
        "DELETE FROM pgq_ops.reap_log",
        "DELETE FROM pgq_ops.task",
        "DELETE FROM pgq_ops.finding",
    ):
        with_jobs.refused(statement)


def test_an_older_schema_gets_the_grants_that_it_has_tables_for(
    with_jobs: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = versions.versions()
    with monkeypatch.context() as older:
        older.setattr(versions, "versions", lambda: every[:2])
        install(with_jobs.admin)
    assert "pgq_ops.task" in with_jobs.grant(Tier.OBSERVE)
    install(with_jobs.admin)
    assert "INSERT, UPDATE, DELETE ON TABLE pgq_ops.finding" in with_jobs.grant(Tier.OBSERVE)


def test_neither_observe_nor_reap_may_retry_or_purge_dead_letters(with_jobs: Setup) -> None:
    with_jobs.database.execute("UPDATE jobs SET status = 'failed' WHERE id = 1")
    with_jobs.grant(Tier.REAP)
    with pytest.raises(NotPermitted, match=r'GRANT UPDATE \("attempts"\) ON "public"."jobs"'):
        retry(with_jobs.database, EMAILS, role=with_jobs.role)
    with pytest.raises(NotPermitted, match=r'GRANT DELETE ON "public"."jobs"'):
        purge(with_jobs.database, EMAILS, role=with_jobs.role)


def test_dead_letters_of_a_table_of_their_own_are_seen_moved_back_and_purged_with_the_grants_for_it(
    setup: Setup, tmp_path: Path
) -> None:
    setup.database.execute(JOBS)
    setup.database.execute("CREATE SCHEMA graves; CREATE TABLE graves.dead_jobs (LIKE jobs INCLUDING DEFAULTS)")
    setup.database.execute(
        "INSERT INTO graves.dead_jobs (id, status) VALUES (1, 'failed'), (2, 'failed'), (3, 'failed')"
    )
    toml = f'{EMAILS}[job_tables.emails.reaper]\ndead_letter_table = "graves.dead_jobs"\n'
    setup.grant(Tier.OBSERVE, toml=toml)
    bound = bind_toml(setup.database, toml, role=setup.role, read_only=True)
    assert DeadRetry().plan(bound.connection, bound.table).counts.moved == 3
    setup.refused("SELECT payload FROM graves.dead_jobs")
    with pytest.raises(
        NotPermitted, match=r'GRANT DELETE ON "public"."jobs"(.|\n)*GRANT DELETE ON "graves"."dead_jobs"'
    ):
        purge(setup.database, toml, role=setup.role)
    setup.grant(Tier.DEAD, toml=toml)
    assert retry(setup.database, toml, role=setup.role, limit=1).counts.moved == 1
    assert purge(setup.database, toml, role=setup.role, file=tmp_path / "a").counts.moved == 2
    setup.refused("INSERT INTO graves.dead_jobs (id) VALUES (9)")
    setup.refused("UPDATE graves.dead_jobs SET payload = '[]'")


def test_the_payload_is_read_only_when_asked_for(setup: Setup) -> None:
    setup.database.execute(JOBS)
    toml = f'{EMAILS}[job_tables.emails.columns]\npayload = "payload"\n'
    assert '"payload"' not in setup.grant(Tier.OBSERVE, toml=toml)
    setup.refused("SELECT payload FROM jobs")
    assert '"payload"' in setup.grant(Tier.OBSERVE, toml=toml, payload=True)
    setup.as_role().execute("SELECT payload FROM jobs")
    setup.refused("SELECT secret FROM jobs")


@pytest.mark.parametrize(
    ("expression", "column", "other"),
    [
        ("payload ->> 'kind'", "payload", "secret"),
        ("coalesce(secret, 'payload')", "secret", "payload"),
    ],
)
def test_the_columns_that_a_mapped_expression_reads_are_granted_and_no_others(
    setup: Setup, expression: str, column: str, other: str
) -> None:
    setup.database.execute(JOBS)
    toml = f'{EMAILS}[job_tables.emails.columns]\nkind = {{ sql = "{expression}" }}\n'
    printed = setup.grant(Tier.OBSERVE, toml=toml)
    assert f"expressions of the mapping read {column}\n" in printed
    may_read = "SELECT has_column_privilege(%s, 'jobs', %s, 'SELECT')"
    assert setup.database.value(may_read, [setup.role, column])
    assert not setup.database.value(may_read, [setup.role, other])


def test_an_expression_over_the_whole_row_or_a_system_column_gets_what_it_needs(setup: Setup) -> None:
    setup.database.execute(JOBS)
    toml = f"{EMAILS}[job_tables.emails.columns]\nkind = {{ sql = \"to_jsonb(j) ->> 'status'\" }}\n"
    setup.grant(Tier.OBSERVE, toml=toml)
    setup.as_role().execute("SELECT to_jsonb(j) FROM jobs AS j")
    toml = f'{EMAILS}[job_tables.emails.columns]\nkind = {{ sql = "xmin::text" }}\n'
    assert '"xmin"' in setup.grant(Tier.OBSERVE, toml=toml)
    setup.as_role().execute("SELECT xmin FROM jobs")


def test_states_told_and_written_by_expressions_can_be_reaped(setup: Setup) -> None:
    setup.database.execute(
        "CREATE TABLE jobs (id int PRIMARY KEY, done boolean DEFAULT false, failed_at timestamptz,"
        " lease_until timestamptz, available_at timestamptz NOT NULL DEFAULT now(),"
        " attempts int NOT NULL DEFAULT 0, history text, secret text)"
    )
    setup.database.execute(
        "INSERT INTO jobs (id, lease_until, attempts, history)"
        " VALUES (1, now() - interval '1 s', 1, 'a'), (2, now() - interval '1 s', 9, 'b')"
    )
    toml = """
        [job_tables.emails]
        table = "jobs"
        columns = { id = "id", lease_expires_at = "lease_until", available_at = "available_at", attempts = "attempts" }
        [job_tables.emails.states.pending]
        where = "not done and failed_at is null and lease_until is null"
        set = { lease_until = "NULL", history = "coalesce(history, '') || ' requeued'" }
        [job_tables.emails.states.running]
        where = "not done and failed_at is null and lease_until is not null"
        [job_tables.emails.states.dead]
        where = "failed_at is not null"
        set = { failed_at = "now()" }
    """
    setup.grant(Tier.REAP, toml=toml)
    result = reap(setup.database, toml, role=setup.role)
    assert (result.requeued, result.dead_lettered) == (1, 1)
    rows = setup.database.rows("SELECT id, history, failed_at IS NOT NULL FROM jobs ORDER BY id")
    assert rows == [(1, "a requeued", False), (2, "b", True)]
    setup.refused("UPDATE jobs SET secret = 'x'")
    setup.refused("SELECT secret FROM jobs")


def test_vacuum_maintains_every_partition_from_17_and_says_what_else_before(with_jobs: Setup) -> None:
    printed = with_jobs.grant(Tier.VACUUM)
    if with_jobs.admin.info.server_version < 170_000:
        assert "before PostgreSQL 17 only the owner may VACUUM" in printed
        assert "MAINTAIN" not in printed
        return
    connection = with_jobs.as_role()
    notices: list[str] = []
    connection.add_notice_handler(lambda notice: notices.append(str(notice.message_primary)))
    connection.execute("VACUUM (ANALYZE) jobs")
    assert notices == []
    with_jobs.refused("UPDATE jobs SET status = 'pending'")
    with_jobs.refused("ALTER TABLE jobs RESET (fillfactor)")


@pytest.mark.parametrize("tier", [Tier.TUNE, Tier.RETIRE], ids=str)
def test_tune_and_retire_act_as_the_owner_only_where_they_say_so(
    with_jobs: Setup, make_role: Roles, tier: Tier
) -> None:
    owner = make_role("owner", "NOLOGIN")
    for (name,) in with_jobs.database.rows("SELECT relname::text FROM pg_class WHERE relname ~ '^jobs(_\\d)?$'"):
        with_jobs.database.execute(f"ALTER TABLE {name} OWNER TO {owner}")
    printed = with_jobs.grant(tier)
    assert f"set database.owner_role to {owner}" in printed
    connection = with_jobs.as_role()
    if connection.info.server_version >= 160_000:
        with_jobs.refused("ALTER TABLE jobs ADD COLUMN more text")
    connection.execute(f"SET ROLE {owner}".encode())
    connection.execute("ALTER TABLE jobs ADD COLUMN more text")


@pytest.mark.parametrize("tier", [Tier.TUNE, Tier.RETIRE], ids=str)
def test_nobody_is_made_a_member_of_a_superuser_to_tune_or_to_retire(with_jobs: Setup, tier: Tier) -> None:
    printed = with_jobs.grant(tier)
    assert "is a superuser: first give the table an owner that is none" in printed
    assert 'GRANT "postgres"' not in printed
    with_jobs.refused("ALTER TABLE jobs ADD COLUMN more text")


def test_tiers_can_be_combined_and_none_holds_another(with_jobs: Setup) -> None:
    reaping, vacuuming = (with_jobs.grant(tier) for tier in (Tier.REAP, Tier.VACUUM))
    both = with_jobs.grant(Tier.REAP, Tier.VACUUM)
    assert "GRANT UPDATE" in reaping
    assert "GRANT UPDATE" not in vacuuming
    assert "GRANT UPDATE" in both
    assert ("MAINTAIN" in both) == ("MAINTAIN" in vacuuming)
    assert all(" SELECT (" in one for one in (reaping, vacuuming, both))


def test_granting_twice_changes_nothing_and_no_statement_stands_there_twice(with_jobs: Setup) -> None:
    install(with_jobs.admin)
    with_jobs.grant(Tier.REAP)
    printed = with_jobs.grant(Tier.REAP)
    statements = [line for line in printed.splitlines() if line.startswith("GRANT")]
    assert len(statements) == len(set(statements))
    assert "pg_monitor" not in printed


def test_the_printed_script_gives_the_same_rights(with_jobs: Setup) -> None:
    install(with_jobs.admin)
    table = bind_toml(with_jobs.database, EMAILS).table
    printed = script(plan(with_jobs.admin, with_jobs.role, [table], [Tier.REAP]))
    with_jobs.admin.execute(printed.encode())
    result = reap(with_jobs.database, EMAILS, role=with_jobs.role)
    assert (result.requeued, result.dead_lettered) == (1, 1)


@pytest.mark.case("C1")
def test_names_that_need_quotes_are_quoted(setup: Setup) -> None:
    role = setup.role
    odd = f'{role} "%s" {{}} -- x'
    quoted_role = '"' + odd.replace('"', '""') + '"'
    setup.admin.execute(f'ALTER ROLE "{role}" RENAME TO {quoted_role}'.encode())
    try:
        setup.database.execute(
            'CREATE SCHEMA "Ops-Q"; CREATE TABLE "Ops-Q"."Order%" ("Id %" int PRIMARY KEY, "a""b" text)'
        )
        toml = """
            ["job_tables"."line\\nbreak -- DROP"]
            table = '"Ops-Q"."Order%"'
            columns = { id = "Id %", state = 'a"b' }
            states = { pending = ["p"], running = ["r"], done = ["d"], dead = ["x"] }
        """
        table = bind_toml(setup.database, toml).table
        printed = script(plan(setup.admin, odd, [table], [Tier.OBSERVE]))
        setup.admin.execute(printed.encode())
        has = "SELECT has_column_privilege(%s, '\"Ops-Q\".\"Order%%\"', 'Id %%', 'SELECT')"
        assert setup.database.value(has, [odd])
        assert [line for line in printed.splitlines() if not line.startswith(("--", "GRANT "))] == []
    finally:
        setup.admin.execute(f'ALTER ROLE {quoted_role} RENAME TO "{role}"'.encode())


def test_row_level_security_comes_with_the_policy_that_is_needed(with_jobs: Setup) -> None:
    with_jobs.database.execute("ALTER TABLE jobs ENABLE ROW LEVEL SECURITY")
    printed = with_jobs.grant(Tier.OBSERVE)
    [policy] = [line.partition("every row: ")[2] for line in printed.splitlines() if "row-level security" in line]
    with pytest.raises(NotPermitted, match="row-level security hides rows"):
        bind_toml(with_jobs.database, EMAILS, role=with_jobs.role)
    with_jobs.admin.execute(policy.encode())
    assert bind_toml(with_jobs.database, EMAILS, role=with_jobs.role).table.all_visible_policies


def test_a_role_that_is_not_there_or_is_a_superuser_is_told_apart(with_jobs: Setup) -> None:
    table = bind_toml(with_jobs.database, EMAILS).table
    with pytest.raises(UsageError, match='there is no role "nobody": make it with CREATE ROLE "nobody" LOGIN;'):
        plan(with_jobs.admin, "nobody", [table], [Tier.OBSERVE])
    [remark] = plan(with_jobs.admin, with_jobs.admin.info.user, [table], [Tier.REAP])
    assert remark.statement == ""
    assert "is a superuser" in remark.why


def test_what_may_be_granted_in_part_only_is_not_granted_and_told(with_jobs: Setup, make_role: Roles) -> None:
    table = bind_toml(with_jobs.database, EMAILS).table
    grants = plan(with_jobs.admin, with_jobs.role, [table], [Tier.OBSERVE])
    junior = make_role("junior")
    connection = with_jobs.database.connect(user=junior)
    outcome = apply(connection, grants)
    assert outcome.granted == ()
    assert isinstance(outcome.error, NotPermitted)
    assert "could not run GRANT SELECT" in str(outcome.error)
    with_jobs.database.execute(f"GRANT SELECT ON jobs TO {junior} WITH GRANT OPTION")
    moving = Grant("buried jobs are moved away", f"GRANT SELECT, DELETE ON TABLE jobs TO {with_jobs.role}")
    outcome = apply(connection, [moving])
    assert 'not all privileges were granted for "jobs"' in str(outcome.error)
    with_jobs.refused("SELECT id FROM jobs")


def owned(setup: Setup, owner: str) -> Connection:
    """Give the job table to an owner who owns nothing else, and connect as that one."""
    for (name,) in setup.database.rows("SELECT relname::text FROM pg_class WHERE relname ~ '^jobs(_\\d)?$'"):
        setup.database.execute(f"ALTER TABLE {name} OWNER TO {owner}")
    return setup.database.connect(user=owner)


def test_the_owner_grants_all_but_the_membership_which_is_told_as_not_granted(
    with_jobs: Setup, make_role: Roles
) -> None:
    connection = owned(with_jobs, make_role("owner"))
    table = bind_toml(with_jobs.database, EMAILS).table
    grants = plan(connection, with_jobs.role, [table], [Tier.OBSERVE, Tier.REAP])
    outcome = apply(connection, grants)
    assert [refusal.grant.statement for refusal in outcome.refused] == [f'GRANT pg_monitor TO "{with_jobs.role}"']
    assert outcome.granted == tuple(grant for grant in grants if grant.statement)[:-1]
    assert isinstance(outcome.error, ActionFailed)
    assert outcome.error.exit_code == 4
    assert "could not run GRANT pg_monitor" in str(outcome.error)
    result = reap(with_jobs.database, EMAILS, role=with_jobs.role)
    assert (result.requeued, result.dead_lettered) == (1, 1)


def test_each_statement_of_the_script_stands_alone_with_the_membership_last(with_jobs: Setup, make_role: Roles) -> None:
    connection = owned(with_jobs, make_role("owner"))
    table = bind_toml(with_jobs.database, EMAILS).table
    lines = script(plan(connection, with_jobs.role, [table], [Tier.REAP])).splitlines()
    assert lines[-1] == f'GRANT pg_monitor TO "{with_jobs.role}";'
    assert "only a superuser or an admin of pg_monitor" in lines[-2]
    assert {line.split()[0] for line in lines} == {"--", "GRANT"}
    for line in lines:
        with contextlib.suppress(errors.InsufficientPrivilege):
            connection.execute(line.encode())
    assert reap(with_jobs.database, EMAILS, role=with_jobs.role).requeued == 1


def test_the_use_of_a_schema_is_granted_only_where_the_role_lacks_it(setup: Setup) -> None:
    setup.database.execute(f"CREATE SCHEMA closed; {JOBS.replace('jobs', 'closed.jobs')}")
    toml = EMAILS.replace('"jobs"', '"closed.jobs"')
    assert 'GRANT USAGE ON SCHEMA "closed"' in setup.grant(Tier.OBSERVE, toml=toml)
    setup.as_role().execute("SELECT id FROM closed.jobs")
    assert "GRANT USAGE" not in setup.grant(Tier.OBSERVE, toml=toml)


def test_reap_isolates_a_row_that_waits_on_an_uncommitted_twin(with_jobs: Setup) -> None:
    """The look at the lock that then stands in the way of the table needs no more than the tier either."""
    install(with_jobs.admin)
    leaf = "jobs_1" if with_jobs.database.value("SELECT to_regclass('jobs_1') IS NOT NULL") else "jobs"
    with_jobs.database.execute(f"CREATE UNIQUE INDEX ON {leaf} (claim_version) WHERE status = 'pending'")
    with_jobs.database.execute("UPDATE jobs SET claim_version = id; DELETE FROM jobs WHERE id = 3")
    with_jobs.grant(Tier.REAP)
    other = with_jobs.database.connect(autocommit=False)
    other.execute("INSERT INTO jobs (id, claim_version) VALUES (4, 1)")
    result = reap(with_jobs.database, EMAILS, role=with_jobs.role)
    assert (result.requeued, result.dead_lettered, result.remaining) == (0, 1, 1)
    other.rollback()
    assert reap(with_jobs.database, EMAILS, role=with_jobs.role).requeued == 1
