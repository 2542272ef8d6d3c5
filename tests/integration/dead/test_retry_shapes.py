"""Retrying dead jobs of tables as people really have them: keys, states, times, partitions, names, errors."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from pgq_ops.errors import ConfigError, NotInstalled, NotPermitted
from pgq_ops.job_table.dead_filter import DeadFilter
from pgq_ops.schema.versions import install
from pgq_ops.tasks import dead_relations
from pgq_ops.tasks.dead_retry import DeadRetry
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, SMALL, create_field_table, statuses
from tests.support.retrying import DEAD, MOVED, purge, retry

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database
    from tests.support.roles import Roles

BY_DAY = """
CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY, status text, attempts int, lease_until timestamptz,
    locked_by text, run_at timestamptz, created_at date, PRIMARY KEY (id, created_at)) PARTITION BY RANGE (created_at);
CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE jobs_2 PARTITION OF jobs FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
INSERT INTO jobs (status, attempts, created_at)
SELECT 'dead', 5, ('2026-01-05'::date + 31 * (n % 2)) FROM generate_series(1, 20) AS n;
"""
BY_RUN = """
CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY, status text, attempts int, lease_until timestamptz,
    locked_by text, run_at timestamptz NOT NULL, PRIMARY KEY (id, run_at)) PARTITION BY RANGE (run_at);
CREATE TABLE jobs_old PARTITION OF jobs FOR VALUES FROM (MINVALUE) TO ('2026-01-01');
"""
NOW = """
DO $$ BEGIN
    EXECUTE format('CREATE TABLE jobs_now PARTITION OF jobs FOR VALUES FROM (%L) TO (%L)',
                   now() - interval '1 hour', now() + interval '5 minutes');
END $$
"""


@pytest.mark.case("C3")
@pytest.mark.parametrize(
    ("key_type", "values"),
    [
        ("bigint", [2**31 + 5, 2**62]),
        ("uuid", [uuid.UUID(int=7), uuid.UUID(int=2**127)]),
        ("text", ["a", 'it\'s "quoted", {braces} and 50%']),
        ("numeric", [1, 2]),
    ],
)
@pytest.mark.parametrize("moved", [False, True])
def test_keys_of_any_type_address_their_rows(
    database: Database,
    key_type: str,
    values: list[object],
    moved: bool,  # noqa: FBT001
) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ALTER id DROP IDENTITY")
    database.execute(f"ALTER TABLE jobs ALTER id TYPE {key_type} USING NULL")
    database.execute("CREATE TABLE dead_jobs (LIKE jobs INCLUDING ALL)")
    for value in values:
        database.execute(f"INSERT INTO {'dead_jobs' if moved else 'jobs'} (id, status) VALUES (%s, 'dead')", [value])
    first = retry(database, MOVED, wanted=DeadFilter(ids=(str(values[1]),)))
    assert (first.counts.ids, first.counts.not_found) == ((str(values[1]),), ())
    assert retry(database, MOVED).counts.jobs == 1
    assert statuses(database) == {"pending": 2}


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("shape", ["composite", "none"])
@pytest.mark.parametrize("blocks", [3, 8_192])
def test_composite_keys_and_tables_without_a_key_are_gone_through_page_by_page(  # noqa: PLR0913, PLR0917
    database: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    blocks: int,
    shape: str,
    moved: bool,  # noqa: FBT001
) -> None:
    monkeypatch.setattr(dead_relations, "SMALL_BLOCKS", blocks)
    monkeypatch.setattr(dead_relations, "STRETCH_BLOCKS", blocks)
    create_field_table(database)
    database.execute(DEAD, {"n": 1_203})
    database.execute("ALTER TABLE jobs DROP CONSTRAINT jobs_pkey, ADD COLUMN tenant uuid DEFAULT gen_random_uuid()")
    if shape == "composite":
        database.execute("ALTER TABLE jobs ADD PRIMARY KEY (tenant, id)")
    database.execute("INSERT INTO jobs (status) VALUES ('done')")
    database.execute("CREATE TABLE dead_jobs (LIKE jobs INCLUDING INDEXES)")
    if moved:
        database.execute("INSERT INTO dead_jobs SELECT * FROM jobs WHERE status = 'dead'")
        database.execute("DELETE FROM jobs WHERE status = 'dead'")
    place = "dead_jobs" if moved else "jobs"
    with database.connect(autocommit=False) as other:
        other.execute(f"SELECT FROM {place} WHERE id IN (7, 1199) FOR UPDATE".encode())
        gone = purge(database, MOVED, file=tmp_path / "a", limit=601)
        assert (gone.counts.jobs, gone.exported) == (601, 601)
    result = retry(database, MOVED)
    assert (result.counts.jobs, result.counts.refused, result.counts.locked) == (602, 0, 0)
    assert statuses(database) == {"pending": 602, "done": 1}
    assert database.value("SELECT count(*) FROM dead_jobs") == 0


@pytest.mark.parametrize(
    ("column_type", "values"),
    [("state", "['pending'], ['running'], ['done'], ['dead']"), ("smallint", "[0], [1], [2], [3]")],
)
def test_states_of_an_enum_or_a_number_and_epoch_times_are_written_as_they_are_kept(
    database: Database, column_type: str, values: str
) -> None:
    create_field_table(database)
    database.execute("CREATE TYPE state AS ENUM ('pending', 'running', 'done', 'dead')")
    pending, running, done, dead = values.split(", ")
    database.execute("DROP INDEX jobs_running; ALTER TABLE jobs ALTER status DROP DEFAULT")
    database.execute(f"ALTER TABLE jobs ALTER status TYPE {column_type} USING NULL")
    for column in ("run_at", "finished_at", "created_at", "lease_until"):
        database.execute(f"ALTER TABLE jobs ALTER {column} DROP DEFAULT")
        database.execute(f"ALTER TABLE jobs ALTER {column} TYPE bigint USING NULL")
    long_ago = "extract(epoch FROM now() - interval '1 day')::bigint * 1000"
    database.execute(
        f"INSERT INTO jobs (status, attempts, created_at, finished_at, run_at) SELECT '{dead.strip(chr(91) + chr(93) + chr(39))}',"
        f" 5, {long_ago}, {long_ago}, {long_ago} FROM generate_series(1, 10)"
    )
    toml = FIELD
    for state, value in (("pending", pending), ("running", running), ("done", done), ("dead", dead)):
        toml = toml.replace(f'{state} = ["{state}"]', f"{state} = {value}".replace("'", '"'))
    result = retry(database, toml, rate=1.0)
    assert (result.counts.jobs, result.counts.conflicts) == (10, ())
    due = "SELECT count(*) FROM jobs WHERE run_at / 1000 BETWEEN extract(epoch FROM now()) - 5 AND extract(epoch FROM now()) + 10"
    assert database.value(due) == 10
    assert database.value("SELECT count(*) FROM jobs WHERE finished_at IS NULL AND attempts = 0") == 10
    assert (
        database.value(f"SELECT count(*) FROM jobs WHERE status::text = '{pending.strip(chr(91) + chr(93) + chr(39))}'")
        == 10
    )


def test_states_told_and_written_by_expressions_are_written_by_them(database: Database) -> None:
    database.execute("""
        CREATE TABLE jobs (id int PRIMARY KEY, done boolean DEFAULT false, failed_at timestamptz, lease_until timestamptz,
                           run_at timestamptz, attempts int NOT NULL, history text);
        INSERT INTO jobs (id, failed_at, attempts, history) VALUES (1, now(), 9, 'a'), (2, NULL, 3, 'b')
    """)
    toml = """
        [job_tables.jobs]
        table = "jobs"
        columns = { id = "id", lease_expires_at = "lease_until", available_at = "run_at", attempts = "attempts" }
        [job_tables.jobs.states.pending]
        where = "not done and failed_at is null and lease_until is null"
        set = { lease_until = "NULL", failed_at = "NULL", history = "coalesce(j.history, '') || ' retried 100%'" }
        [job_tables.jobs.states.running]
        where = "not done and failed_at is null and lease_until is not null"
        [job_tables.jobs.states.dead]
        where = "failed_at is not null"
        set = { failed_at = "now()" }
    """
    assert retry(database, toml).counts.ids == ("1",)
    rows = database.rows("SELECT id, failed_at, attempts, history FROM jobs ORDER BY id")
    assert rows == [(1, None, 0, "a retried 100%"), (2, None, 3, "b")]
    # A `set` that leaves the job dead is no retry.
    database.execute("UPDATE jobs SET failed_at = now() WHERE id = 2")
    result = retry(database, toml.replace(' failed_at = "NULL",', ""))
    assert (result.counts.jobs, result.counts.refused) == (0, 1)


@pytest.mark.parametrize("counted_at", ["claim", "reap"])
def test_attempts_that_only_an_expression_tells_cannot_be_reset_and_that_is_said(
    database: Database, counted_at: str
) -> None:
    create_field_table(database)
    toml = FIELD.replace('attempts = "attempts"', 'attempts = { sql = "attempts + 0" }')
    if counted_at == "claim":
        with pytest.raises(ConfigError, match=r"columns\.attempts: cannot be written"):
            retry(database, toml)
    toml = FIELD.replace('attempts = "attempts"\n', "")
    with pytest.raises(NotInstalled, match="pgq-ops install"):
        retry(database, toml)


@pytest.mark.parametrize(
    ("error_type", "before", "after"),
    [
        ("text", "'boom'", "SELECT last_error ~ '^boom\n.*retried by pgq-ops: attempts 5 now count as 0$' FROM jobs"),
        ("text", "NULL", "SELECT last_error ~ '^[^\n]*retried by pgq-ops' FROM jobs"),
        ("varchar(10)", "'boom'", "SELECT last_error ~ '^boom\n.{5}$' FROM jobs"),
        (
            "jsonb",
            "'[{\"a\": 1}]'",
            "SELECT last_error->0 = '{\"a\": 1}' AND last_error->1->>'outcome' = 'retried' FROM jobs",
        ),
        ("json", "'\"x\"'", "SELECT last_error->>0 = 'x' AND last_error->1->>'attempts_made' = '0' FROM jobs"),
        ("text[]", "ARRAY['x']", "SELECT last_error[1] = 'x' AND last_error[2] ~ 'retried by pgq-ops' FROM jobs"),
        ("jsonb[]", "ARRAY['1'::jsonb]", "SELECT last_error[2]->>'by' = 'pgq-ops' FROM jobs"),
    ],
)
@pytest.mark.parametrize("moved", [False, True])
def test_the_error_is_kept_and_a_note_appended_whatever_its_type(
    database: Database,
    error_type: str,
    before: str,
    after: str,
    moved: bool,  # noqa: FBT001
) -> None:
    create_field_table(database)
    database.execute(f"ALTER TABLE jobs ALTER last_error TYPE {error_type} USING NULL")
    database.execute("CREATE TABLE dead_jobs (LIKE jobs INCLUDING ALL)")
    place = "dead_jobs" if moved else "jobs"
    database.execute(f"INSERT INTO {place} (id, status, attempts, last_error) VALUES (1, 'dead', 5, {before})")
    assert retry(database, MOVED).counts.jobs == 1
    assert database.value(after)


def test_a_locked_leaf_does_not_stop_the_others_and_a_sealed_one_is_a_conflict(
    database: Database, tmp_path: Path
) -> None:
    database.execute(BY_DAY)
    database.execute("ALTER TABLE jobs_2 ADD CONSTRAINT sealed CHECK (status IN ('done', 'dead'))")
    bound = bind_toml(database, SMALL)
    with database.connect(autocommit=False) as holder:
        holder.execute("LOCK TABLE jobs_1 IN ACCESS EXCLUSIVE MODE")
        result = DeadRetry().run(bound.connection, bound.table, lambda: True)
    assert (result.counts.jobs, result.counts.busy, result.counts.refused) == (0, ("public.jobs_1",), 10)
    assert all("sealed" in one.reason for one in result.counts.conflicts)
    result = retry(database, SMALL)
    assert (result.counts.jobs, result.counts.refused) == (10, 10)
    assert purge(database, SMALL, file=tmp_path / "a").counts.jobs == 10
    assert statuses(database) == {"pending": 10}


@pytest.mark.case("R22")
@pytest.mark.parametrize("moved", [False, True])
def test_jobs_move_to_the_partition_of_their_new_time_and_never_past_the_last_one(
    database: Database,
    moved: bool,  # noqa: FBT001
) -> None:
    database.execute(BY_RUN)
    database.execute(NOW)
    toml = SMALL
    database.execute(
        "INSERT INTO jobs (status, attempts, run_at) SELECT 'dead', 5, '2025-05-05' FROM generate_series(1, 10)"
    )
    if moved:
        toml += 'dead_letter_table = "dead_jobs"\n'
        database.execute(
            "CREATE TABLE dead_jobs (LIKE jobs); INSERT INTO dead_jobs SELECT * FROM jobs; DELETE FROM jobs"
        )
    # One each minute: the last four would come after the end of the last partition.
    result = retry(database, toml, rate=1 / 60)
    assert (result.counts.jobs, result.counts.refused) == (10, 0)
    assert database.rows("SELECT tableoid::regclass::text, status, count(*) FROM jobs GROUP BY 1, 2") == [
        ("jobs_now", "pending", 10)
    ]
    assert 290 < result.spread_seconds < 300


def test_one_locked_leaf_of_a_table_whose_rows_move_is_told(database: Database) -> None:
    database.execute(BY_RUN)
    database.execute(NOW)
    database.execute("INSERT INTO jobs (status, attempts, run_at) VALUES ('dead', 5, '2025-05-05')")
    bound = bind_toml(database, SMALL)
    with database.connect(autocommit=False) as holder:
        holder.execute("LOCK TABLE jobs_old IN ACCESS EXCLUSIVE MODE")
        result = DeadRetry().run(bound.connection, bound.table, lambda: True)
        assert (result.counts.jobs, result.counts.busy) == (0, ("public.jobs",))


@pytest.mark.case("C1")
def test_awkward_names_are_taken_literally_everywhere(database: Database, tmp_path: Path) -> None:
    long = "x" * 63
    columns = f"""("Id" bigint PRIMARY KEY, "desc" text, "Created At" timestamptz, "done %" int,
            "a""b" text, "{{braces}}" timestamptz, "{long}" text, "%(limit)s" timestamptz, j text)"""
    database.execute(f"""
        CREATE SCHEMA "Ops-Q";
        CREATE TABLE "Ops-Q"."Order" {columns};
        CREATE TABLE "Ops-Q"."Dead %s" {columns};
        INSERT INTO "Ops-Q"."Order" VALUES (1, 'tot', now(), 9, 'w', now(), 'e', now(), 'j'), (2, 'tot', now(), 9, NULL, NULL, NULL, NULL, NULL);
        INSERT INTO "Ops-Q"."Dead %s" VALUES (3, 'tot', now(), 9, 'w', now(), 'e', now(), 'j'), (4, 'tot', now(), 9, NULL, NULL, NULL, NULL, NULL);
    """)
    toml = f"""
[job_tables."Bestellungen %"]
table = '"Ops-Q"."Order"'
[job_tables."Bestellungen %".columns]
id = "Id"
state = "desc"
available_at = "%(limit)s"
lease_expires_at = "{{braces}}"
owner = 'a"b'
attempts = "done %"
created_at = "Created At"
error = "{long}"
[job_tables."Bestellungen %".states]
pending = ["w'artet %s"]
running = ["läuft 100%"]
done = ["fertig"]
dead = ["tot"]
[job_tables."Bestellungen %".reaper]
dead_letter_table = '"Ops-Q"."Dead %s"'
"""
    assert retry(database, toml, wanted=DeadFilter(ids=("1", "3"))).counts.jobs == 2
    assert purge(database, toml, file=tmp_path / "a%s").exported == 2
    rows = database.rows('SELECT "Id", "desc", "done %%", "a""b" FROM "Ops-Q"."Order" ORDER BY 1', {})
    assert rows == [(1, "w'artet %s", 0, None), (3, "w'artet %s", 0, None)]
    assert len((tmp_path / "a%s").read_text().splitlines()) == 2


@pytest.mark.case("R15")
def test_policies_that_let_dead_jobs_be_seen_and_not_written_are_an_error(database: Database, make_role: Roles) -> None:
    create_field_table(database)
    database.execute(DEAD, {"n": 3})
    role = make_role("retrier")
    database.execute(f"""
        GRANT SELECT, UPDATE, DELETE ON jobs TO {role};
        ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
        CREATE POLICY seen ON jobs FOR SELECT TO {role} USING (true);
        CREATE POLICY written ON jobs FOR UPDATE TO {role} USING (queue = 'mine');
    """)
    for act in (retry, purge):
        with pytest.raises(NotPermitted, match="CREATE POLICY pgq_ops"):
            act(database, FIELD, role=role)
    database.execute(f"CREATE POLICY pgq_ops ON jobs TO {role} USING (true) WITH CHECK (true)")
    assert retry(database, FIELD, role=role, limit=1).counts.jobs == 1
    assert purge(database, FIELD, role=role).counts.jobs == 2


def test_what_is_retried_is_remembered_and_a_log_that_somebody_holds_stops_nobody(database: Database) -> None:
    create_field_table(database)
    database.execute(DEAD, {"n": 20})
    install(database.connect())
    assert retry(database, limit=2, extra_attempts=2).counts.jobs == 2
    log = "SELECT job, outcome, queue, attempt, owner = session_user, job_table FROM pgq_ops.reap_log ORDER BY id"
    assert database.rows(log) == [
        ("1", "retried", "mail", 3, True, "jobs"),
        ("2", "retried", "mail", 3, True, "jobs"),
    ]
    with database.connect(autocommit=False) as holder:
        holder.execute("LOCK TABLE pgq_ops.reap_log IN ACCESS EXCLUSIVE MODE")
        result = retry(database)
    assert (result.counts.jobs, result.counts.busy) == (18, ())
    assert database.value("SELECT count(*) FROM pgq_ops.reap_log") == 2
