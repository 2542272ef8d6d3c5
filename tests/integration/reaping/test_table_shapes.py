"""Job tables as people really have them."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import psycopg
import pytest

from pgq_ops.errors import ConfigError, NotPermitted
from pgq_ops.tasks.reap import Reap
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, SMALL, create_field_table, reap, statuses

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles


@pytest.mark.case("R16")
def test_the_same_id_in_two_partitions_is_two_jobs(database: Database) -> None:
    database.execute("""
        CREATE TABLE jobs (id bigint, status text, attempts int, lease_until timestamptz, locked_by text,
            run_at timestamptz, created_at date, PRIMARY KEY (id, created_at)) PARTITION BY RANGE (created_at);
        CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
        CREATE TABLE jobs_2 PARTITION OF jobs FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
        INSERT INTO jobs VALUES (1, 'running', 1, now() - interval '1 m', 'a', now(), '2026-01-05'),
                                (1, 'running', 1, now() + interval '1 m', 'b', now(), '2026-02-05');
    """)
    toml = FIELD
    for line in ("max_attempts", "queue", "finished_at", "error"):
        toml = "\n".join(kept for kept in toml.splitlines() if not kept.startswith(f"{line} = "))
    assert reap(database, toml).requeued == 1
    assert database.rows("SELECT created_at::text, status, locked_by FROM jobs ORDER BY 1") == [
        ("2026-01-05", "pending", None),
        ("2026-02-05", "running", "b"),
    ]


PARTITIONED = """
CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY, status text, attempts int, lease_until timestamptz,
    locked_by text, run_at timestamptz NOT NULL, PRIMARY KEY (id, run_at)) PARTITION BY RANGE (run_at);
"""


@pytest.mark.case("R22")
def test_a_requeue_past_the_last_partition_lands_in_the_runway(database: Database) -> None:
    database.execute(PARTITIONED)
    database.execute("""
        DO $$ BEGIN
            EXECUTE format('CREATE TABLE jobs_now PARTITION OF jobs FOR VALUES FROM (%L) TO (%L)',
                           now() - interval '1 hour', now() + interval '5 minutes');
        END $$
    """)
    database.execute("""
        INSERT INTO jobs (status, attempts, lease_until, run_at)
        SELECT 'running', 1, now() - interval '1 m', now() - interval '2 m' FROM generate_series(1, 5)
    """)
    result = reap(database, SMALL + 'backoff = { base = "1h", max = "2h" }\n')
    assert (result.requeued, result.conflicts) == (5, 0)
    assert statuses(database) == {"pending": 5}
    assert database.value("SELECT max(run_at) > now() FROM jobs")


@pytest.mark.case("R22")
def test_rows_move_to_the_partition_of_their_new_time(database: Database) -> None:
    database.execute(PARTITIONED)
    database.execute("""
        CREATE TABLE jobs_old PARTITION OF jobs FOR VALUES FROM (MINVALUE) TO ('2026-01-01');
        CREATE TABLE jobs_rest PARTITION OF jobs FOR VALUES FROM ('2026-01-01') TO (MAXVALUE);
        INSERT INTO jobs (status, attempts, lease_until, run_at)
        VALUES ('running', 1, now() - interval '1 m', '2025-12-31');
    """)
    assert reap(database, SMALL).requeued == 1
    assert database.rows("SELECT tableoid::regclass::text, status FROM jobs") == [("jobs_rest", "pending")]


@pytest.mark.parametrize("task", [Reap(), Reap(remembers=True)], ids=["by hand", "by the agent"])
def test_a_locked_leaf_does_not_stop_the_others(database: Database, task: Reap) -> None:
    database.execute("""
        CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY, status text, attempts int, lease_until timestamptz,
            locked_by text, run_at timestamptz, created_at date, PRIMARY KEY (id, created_at)) PARTITION BY RANGE (created_at);
        CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
        CREATE TABLE jobs_2 PARTITION OF jobs FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
        INSERT INTO jobs (status, attempts, lease_until, created_at)
        VALUES ('running', 1, now() - interval '1 m', '2026-01-05'), ('running', 1, now() - interval '1 m', '2026-02-05');
    """)
    bound = bind_toml(database, SMALL)
    with database.connect(autocommit=False) as holder:
        holder.execute("LOCK TABLE jobs_1 IN ACCESS EXCLUSIVE MODE")
        result = task.run(bound.connection, bound.table, lambda: True)
    assert (result.requeued, result.busy) == (1, ("public.jobs_1",))
    assert (result.stale, result.remaining) == (None, None)


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
def test_keys_of_any_type_address_their_rows(database: Database, key_type: str, values: list[object]) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ALTER id DROP IDENTITY")
    database.execute(f"ALTER TABLE jobs ALTER id TYPE {key_type} USING NULL")
    for value in values:
        database.execute(
            "INSERT INTO jobs (id, status, lease_until, attempts) VALUES (%s, 'running', now() - interval '1 m', 1)",
            [value],
        )
    assert reap(database, FIELD + "batch_size = 1\n").requeued == len(values)
    assert statuses(database) == {"pending": len(values)}


@pytest.mark.case("C3")
def test_composite_keys_are_paged_in_their_order(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "ALTER TABLE jobs DROP CONSTRAINT jobs_pkey, ADD COLUMN tenant uuid NOT NULL DEFAULT gen_random_uuid()"
    )
    database.execute("ALTER TABLE jobs ADD PRIMARY KEY (tenant, id)")
    database.execute(
        "INSERT INTO jobs (status, lease_until, attempts) SELECT 'running', now() - interval '1 m', 1 FROM generate_series(1, 25)"
    )
    assert reap(database, FIELD + "batch_size = 4\n").requeued == 25


def test_a_table_without_a_primary_key_is_reaped_by_row_address(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs DROP CONSTRAINT jobs_pkey")
    database.execute(
        "INSERT INTO jobs (status, lease_until, attempts) SELECT 'running', now() - interval '1 m', 1 FROM generate_series(1, 25)"
    )
    database.execute("INSERT INTO jobs (status, lease_until, attempts) VALUES ('running', now() + interval '1 m', 1)")
    assert reap(database, FIELD + "batch_size = 4\n").requeued == 25
    assert statuses(database) == {"pending": 25, "running": 1}


@pytest.mark.case("C1")
def test_awkward_names_are_taken_literally_everywhere(database: Database) -> None:
    long = "x" * 63
    database.execute(f"""
        CREATE SCHEMA "Ops-Q";
        CREATE SCHEMA other;
        CREATE TABLE "Ops-Q"."Order" ("Id" bigint PRIMARY KEY, "desc" text, "Created At" timestamptz, "done %" int,
            "a""b" text, "{{braces}}" timestamptz, "{long}" text, "%(limit)s" timestamptz);
        CREATE TABLE other."Order" ("Id" bigint PRIMARY KEY);
        INSERT INTO "Ops-Q"."Order" VALUES (1, 'läuft 100%', now(), 1, 'w', now() - interval '1 m', 'e', now()),
                                           (2, 'läuft 100%', now(), 9, 'w', now() - interval '1 m', NULL, now());
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
pending = ["wartet"]
running = ["läuft 100%"]
done = ["fertig"]
dead = ["tot'; DROP TABLE \\"Ops-Q\\".\\"Order\\"; --"]
[job_tables."Bestellungen %".reaper]
"""
    result = reap(database, toml)
    assert (result.requeued, result.dead_lettered) == (1, 1)
    rows = database.rows('SELECT "Id", "desc", "a""b" FROM "Ops-Q"."Order" ORDER BY 1')
    assert rows == [(1, "wartet", None), (2, 'tot\'; DROP TABLE "Ops-Q"."Order"; --', "w")]


@pytest.mark.parametrize(
    ("column_type", "values"),
    [
        ("int", {"pending": 0, "running": 1, "done": 2, "dead": 3}),
        ("numeric", {"pending": 0, "running": 1, "done": 2, "dead": 3}),
        ("status_enum", {"pending": "pending", "running": "running", "done": "done", "dead": "dead"}),
        ("status_domain", {"pending": "pending", "running": "running", "done": "done", "dead": "dead"}),
        ("char(10)", {"pending": "pending   ", "running": "running   ", "done": "done", "dead": "dead      "}),
        ("varchar(10)", {"pending": "pending", "running": "running", "done": "done", "dead": "dead"}),
    ],
)
def test_states_of_any_type_are_read_and_written(
    database: Database, column_type: str, values: dict[str, object]
) -> None:
    database.execute("CREATE TYPE status_enum AS ENUM ('pending', 'running', 'done', 'dead')")
    database.execute("CREATE DOMAIN status_domain AS status_enum NOT NULL")
    database.execute(
        f"CREATE TABLE jobs (id int PRIMARY KEY, status {column_type}, attempts int, lease_until timestamptz, locked_by text, run_at timestamptz)"
    )
    for number, attempts in ((1, 0), (2, 9)):
        database.execute(
            "INSERT INTO jobs VALUES (%s, %s, %s, now() - interval '1 m', 'w', now())",
            [number, values["running"], attempts],
        )
    toml = SMALL
    for state, value in values.items():
        toml = toml.replace(f'{state} = ["{state}"]', f"{state} = [{value!r}]")
    result = reap(database, toml)
    assert (result.requeued, result.dead_lettered) == (1, 1)
    assert [status for (status,) in database.rows("SELECT status FROM jobs ORDER BY id")] == [
        values["pending"],
        values["dead"],
    ]


def test_states_may_be_predicates_with_the_way_to_write_them(database: Database) -> None:
    database.execute(
        "CREATE TABLE jobs (id int PRIMARY KEY, locked_at timestamptz, locked_by text, attempts int, failed_at timestamptz, run_at timestamptz)"
    )
    database.execute(
        "INSERT INTO jobs SELECT n, now() - interval '10 m', 'w', n, NULL, now() FROM generate_series(1, 9) AS n"
    )
    toml = """
[job_tables.jobs]
table = "jobs"
[job_tables.jobs.columns]
id = "id"
available_at = "run_at"
leased_at = "locked_at"
owner = "locked_by"
attempts = "attempts"
[job_tables.jobs.states]
pending = { where = "locked_at IS NULL AND failed_at IS NULL", set = { locked_at = "NULL" } }
running = { where = "locked_at IS NOT NULL AND failed_at IS NULL" }
done = { where = "false" }
dead = { where = "failed_at IS NOT NULL -- a comment", set = { failed_at = "now()" } }
[job_tables.jobs.lease]
timeout = "5m"
[job_tables.jobs.reaper]
"""
    result = reap(database, toml)
    assert (result.requeued, result.dead_lettered) == (4, 5)
    assert database.value("SELECT count(*) FROM jobs WHERE locked_at IS NULL AND locked_by IS NULL") == 4
    assert database.value("SELECT count(*) FROM jobs WHERE failed_at IS NOT NULL AND locked_by = 'w'") == 5


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 1000)])
def test_epoch_columns_are_compared_and_written_in_their_unit(database: Database, unit: str, factor: int) -> None:
    database.execute(
        "CREATE TABLE jobs (id int PRIMARY KEY, status text, attempts int, lease_until bigint, locked_by text, run_at bigint)"
    )
    database.execute(
        "INSERT INTO jobs SELECT n, 'running', 1, extract(epoch FROM now() + make_interval(mins => n)) * %s, 'w', 0 FROM generate_series(-1, 1, 2) AS n",
        [factor],
    )
    assert (
        reap(
            database,
            SMALL.replace('available_at = "run_at"', f'available_at = {{ column = "run_at", unit = "{unit}" }}'),
        ).requeued
        == 1
    )
    delay = database.value(
        f"SELECT run_at::float8 / {factor} - extract(epoch FROM now()) FROM jobs WHERE status = 'pending'"
    )
    assert 15 < delay < 22


@pytest.mark.parametrize("heartbeat", [None, "10 minutes", "1 minute"])
def test_a_lease_may_be_a_timeout_after_the_claim_or_the_last_heartbeat(
    database: Database, heartbeat: str | None
) -> None:
    database.execute(
        "CREATE TABLE jobs (id int PRIMARY KEY, status text, attempts int, started_at timestamptz, beat timestamptz, run_after timestamptz, priority int)"
    )
    database.execute(
        "INSERT INTO jobs VALUES (1, 'running', 1, now() - interval '10 m', now() - %s::interval, now(), 0)",
        [heartbeat],
    )
    toml = """
[job_tables.jobs]
table = "jobs"
preset = "started-at"
[job_tables.jobs.columns]
heartbeat_at = "beat"
[job_tables.jobs.reaper]
"""
    assert reap(database, toml).requeued == (0 if heartbeat == "1 minute" else 1)
    if heartbeat != "1 minute":
        assert database.rows("SELECT status, started_at, beat FROM jobs") == [("pending", None, None)]


@pytest.mark.case("R15")
def test_row_level_security_that_hides_rows_is_an_error_and_an_all_true_policy_is_not(
    database: Database, make_role: Roles
) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (status, lease_until, attempts) VALUES ('running', now() - interval '1 m', 1)")
    role = make_role("reaper", "LOGIN")
    database.execute(f"GRANT SELECT, UPDATE ON jobs TO {role}; ALTER TABLE jobs ENABLE ROW LEVEL SECURITY")
    with pytest.raises(NotPermitted, match="CREATE POLICY"):
        reap(database, role=role)
    database.execute(f"CREATE POLICY mine ON jobs TO {role} USING (queue = 'mine')")
    with pytest.raises(NotPermitted, match="CREATE POLICY"):
        reap(database, role=role)
    database.execute(f"CREATE POLICY all_of_them ON jobs TO {role} USING (true)")
    assert reap(database, role=role).requeued == 1


@pytest.mark.case("R15")
def test_a_policy_that_comes_after_the_binding_is_loud_and_no_empty_queue(database: Database, make_role: Roles) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (status, lease_until, attempts) VALUES ('running', now() - interval '1 m', 1)")
    role = make_role("reaper", "LOGIN")
    database.execute(f"GRANT SELECT, UPDATE ON jobs TO {role}")
    bound = bind_toml(database, FIELD, role=role)
    database.execute("ALTER TABLE jobs ENABLE ROW LEVEL SECURITY")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        Reap().run(bound.connection, bound.table, lambda: True)


@pytest.mark.parametrize("column_type", ["bigint", "numeric", "double precision"])
def test_a_lease_in_whole_seconds_is_not_over_before_its_second_has_come(database: Database, column_type: str) -> None:
    """Looked at again and again until it is taken, which must not be before its end by the database's clock."""
    database.execute(
        f"CREATE TABLE jobs (id int PRIMARY KEY, status text, attempts int, lease_until {column_type}, locked_by text, run_at timestamptz)"
    )
    database.execute(
        "INSERT INTO jobs SELECT 1, 'running', 1, ceil(extract(epoch FROM clock_timestamp())) + 1, 'w', now()"
    )
    end = float(database.value("SELECT lease_until FROM jobs"))
    bound = bind_toml(database, SMALL)
    while not Reap().run(bound.connection, bound.table, lambda: True).requeued:
        pass
    assert float(database.value("SELECT extract(epoch FROM clock_timestamp())")) >= end


def test_a_requeue_to_another_partition_deletes_nothing_that_refers_to_the_job(database: Database) -> None:
    """Before PostgreSQL 15 a foreign key takes the move for a deletion: there it is refused."""
    database.execute(PARTITIONED)
    database.execute("""
        CREATE TABLE jobs_old PARTITION OF jobs FOR VALUES FROM (MINVALUE) TO ('2026-01-01');
        CREATE TABLE jobs_new PARTITION OF jobs FOR VALUES FROM ('2026-01-01') TO (MAXVALUE);
        INSERT INTO jobs (status, attempts, run_at, lease_until)
        SELECT 'running', 1, '2025-05-05', now() - interval '1 minute' FROM generate_series(1, 5);
        CREATE TABLE events (job bigint, at timestamptz,
                             FOREIGN KEY (job, at) REFERENCES jobs ON UPDATE CASCADE ON DELETE CASCADE);
        INSERT INTO events SELECT id, run_at FROM jobs
    """)
    if database.value("SELECT current_setting('server_version_num')::int") < 150_000:
        with pytest.raises(ConfigError, match="events_job_at_fkey deletes rows of events"):
            reap(database, SMALL)
    else:
        assert reap(database, SMALL).requeued == 5
    assert database.value("SELECT count(*) FROM events") == 5
