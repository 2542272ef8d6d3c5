"""The points about the table itself: keys, triggers, policies, indexes, partitions, replication."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import psycopg
import pytest

from pgq_ops.checks.finding import Severity
from pgq_ops.checks.production import (
    delete_cascades,
    duplicate_indexes,
    id_range,
    incoming_foreign_keys,
    invalid_indexes,
    outgoing_foreign_keys,
    partition_freezing,
    replica_identity,
    row_triggers,
    stale_statistics,
    unlogged_table,
    unused_indexes,
    worker_row_security,
)
from pgq_ops.stats import index_states
from tests.support.agent import wait_until
from tests.support.doctor_points import Doctor, counted, doctor, remedies
from tests.support.jobs import FIELD_TABLE, SMALL, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

OF_DAYS = FIELD_TABLE.replace("PRIMARY KEY", "NOT NULL").rstrip().removesuffix(")") + ") PARTITION BY RANGE (run_at)"
YEARS = {
    "jobs_2020": "('2020-01-01') TO ('2021-01-01')",
    "jobs_2021": "('2021-01-01') TO ('2022-01-01')",
    "jobs_later": "('2022-01-01') TO (MAXVALUE)",
}


@pytest.fixture
def jobs(database: Database) -> Database:
    create_field_table(database)
    return database


@pytest.fixture
def partitioned(database: Database) -> Database:
    database.execute(OF_DAYS)
    for name, bounds in YEARS.items():
        database.execute(f"CREATE TABLE {name} PARTITION OF jobs FOR VALUES FROM {bounds}")
    return database


def insert(database: Database, number: int) -> None:
    counted(
        database,
        f"INSERT INTO jobs (status) SELECT 'done' FROM generate_series(1, {number})",
        f"SELECT pg_stat_get_mod_since_analyze('jobs'::regclass) >= {number}",
    )


def test_a_fresh_table_gives_no_finding_at_all(jobs: Database) -> None:
    one = doctor(jobs)
    points = (duplicate_indexes, id_range, invalid_indexes, stale_statistics, unlogged_table, worker_row_security)
    assert all(one.passed(point) for point in points)
    nothing = (delete_cascades, incoming_foreign_keys, outgoing_foreign_keys, partition_freezing, replica_identity)
    assert all(one.not_applicable(point) for point in (*nothing, row_triggers))
    assert "not read so far" in one.unknown(unused_indexes)


# Foreign keys


@pytest.mark.parametrize(("rows", "severity"), [(9_999, Severity.INFO), (10_000, Severity.WARNING)])
def test_a_child_without_an_index_is_found_and_the_remedy_makes_it(
    jobs: Database, rows: int, severity: Severity
) -> None:
    jobs.execute("CREATE TABLE notes (job bigint REFERENCES jobs, text text)")
    jobs.execute(f"INSERT INTO notes (text) SELECT 'x' FROM generate_series(1, {rows})")
    jobs.execute("ANALYZE notes")
    finding = doctor(jobs).finding(incoming_foreign_keys)
    assert finding.severity is severity
    assert finding.evidence == {"constraints": {"notes_job_fkey": {"table": "public.notes", "rows": rows}}}
    [statement] = remedies(finding)
    jobs.execute(statement)
    assert "1 foreign key" in doctor(jobs).passed(incoming_foreign_keys)


def test_an_index_serves_a_key_only_with_its_columns_first_and_without_leaving_rows_out(database: Database) -> None:
    database.execute(FIELD_TABLE.replace("PRIMARY KEY", "NOT NULL") + "; ALTER TABLE jobs ADD PRIMARY KEY (id, queue)")
    database.execute("CREATE TABLE notes (at int, job bigint, queue text, FOREIGN KEY (job, queue) REFERENCES jobs)")
    database.execute("CREATE INDEX ON notes (at, job, queue)")
    database.execute("CREATE INDEX ON notes (job)")
    database.execute("CREATE INDEX ON notes (job, queue) WHERE at > 0")
    assert doctor(database).finding(incoming_foreign_keys)
    database.execute("CREATE INDEX ON notes (queue, job, at) WHERE job IS NOT NULL")
    assert doctor(database).passed(incoming_foreign_keys)


def test_an_outgoing_key_without_an_index_is_found_and_the_remedy_makes_it(jobs: Database) -> None:
    jobs.execute("CREATE TABLE customers (id bigint PRIMARY KEY)")
    jobs.execute("ALTER TABLE jobs ADD customer bigint REFERENCES customers")
    jobs.execute("INSERT INTO jobs (status) SELECT 'done' FROM generate_series(1, 99999)")
    jobs.execute("ANALYZE jobs")
    finding = doctor(jobs).finding(outgoing_foreign_keys)
    assert finding.severity is Severity.INFO
    assert finding.evidence == {"constraints": {"jobs_customer_fkey": "public.customers"}, "rows": 99_999}
    jobs.execute("INSERT INTO jobs (status) VALUES ('done')")
    jobs.execute("ANALYZE jobs")
    assert doctor(jobs).finding(outgoing_foreign_keys).severity is Severity.WARNING
    [statement] = remedies(finding)
    jobs.execute(statement)
    assert "public.customers" in doctor(jobs).passed(outgoing_foreign_keys)


def test_a_key_that_takes_jobs_away_with_the_row_they_refer_to_is_told(jobs: Database) -> None:
    jobs.execute("CREATE TABLE customers (id bigint PRIMARY KEY)")
    jobs.execute("ALTER TABLE jobs ADD customer bigint REFERENCES customers ON DELETE CASCADE")
    jobs.execute("CREATE INDEX ON jobs (customer)")
    finding = doctor(jobs).finding(outgoing_foreign_keys)
    assert finding.severity is Severity.INFO
    [statement] = remedies(finding)
    [(name, _, definition)] = jobs.rows(statement)
    assert (name, "ON DELETE CASCADE" in definition) == ("jobs_customer_fkey", True)


def test_history_that_goes_with_a_deleted_job_is_told(jobs: Database) -> None:
    jobs.execute("CREATE TABLE events (job bigint REFERENCES jobs)")
    assert doctor(jobs).not_applicable(delete_cascades)
    jobs.execute("CREATE TABLE history (job bigint REFERENCES jobs ON DELETE CASCADE)")
    finding = doctor(jobs).finding(delete_cascades)
    assert finding.severity is Severity.INFO
    assert finding.evidence == {"constraints": ["history_job_fkey deletes rows of history"]}
    [statement] = remedies(finding)
    assert [row[1] for row in jobs.rows(statement)] == ["history_job_fkey"]


def test_jobs_that_go_with_a_deleted_job_are_a_warning(jobs: Database) -> None:
    jobs.execute("ALTER TABLE jobs ADD parent bigint REFERENCES jobs ON DELETE CASCADE")
    assert doctor(jobs).finding(delete_cascades).severity is Severity.WARNING


# Triggers


def trigger(database: Database, body: str, when: str) -> None:
    database.execute(f"CREATE FUNCTION fired() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$")
    database.execute(f"CREATE TRIGGER watched {when} ON jobs FOR EACH ROW EXECUTE FUNCTION fired()")


@pytest.mark.parametrize(
    ("body", "when", "severity"),
    [
        ("RETURN NULL;", "BEFORE UPDATE OF status", Severity.WARNING),
        ("RETURN NULL;", "AFTER UPDATE OF status", None),
        ("PERFORM pg_notify('jobs', ''); RETURN NEW;", "AFTER UPDATE", Severity.WARNING),
        ("PERFORM pg_notify('jobs', ''); RETURN NEW;", "AFTER INSERT", None),
        ("NEW.created_at := now(); RETURN NEW;", "BEFORE UPDATE", Severity.INFO),
        ("NEW.created_at := now(); RETURN NEW;", "BEFORE UPDATE OF lease_until", Severity.INFO),
        ("NEW.created_at := now(); RETURN NEW;", "BEFORE UPDATE OF status, attempts", None),
    ],
)
def test_triggers_are_judged_by_what_they_do_and_when(
    jobs: Database, body: str, when: str, severity: Severity | None
) -> None:
    trigger(jobs, body, when)
    if severity is None:
        assert "watched" in doctor(jobs).passed(row_triggers)
        return
    finding = doctor(jobs).finding(row_triggers)
    assert finding.severity is severity
    assert finding.evidence == {"triggers": {"watched": "fired"}}
    [statement] = remedies(finding)
    assert [str(row[0]) for row in jobs.rows(statement)] == ["jobs"]


def test_triggers_that_do_not_fire_do_not_count(jobs: Database) -> None:
    trigger(jobs, "RETURN NULL;", "BEFORE UPDATE")
    jobs.execute("ALTER TABLE jobs DISABLE TRIGGER watched")
    assert doctor(jobs).not_applicable(row_triggers)


def test_a_trigger_of_one_partition_counts_and_copies_of_the_parent_s_do_not(partitioned: Database) -> None:
    trigger(partitioned, "RETURN NEW;", "AFTER UPDATE OF status")
    assert "1 row trigger (watched)" in doctor(partitioned).passed(row_triggers)
    partitioned.execute("CREATE TRIGGER own BEFORE UPDATE ON jobs_later FOR EACH ROW EXECUTE FUNCTION fired()")
    assert doctor(partitioned).finding(row_triggers).evidence == {"triggers": {"own": "fired"}}


# Row-level security


def test_a_worker_without_a_policy_finds_an_empty_queue_and_the_remedy_shows_it_the_jobs(
    jobs: Database, make_role: Roles
) -> None:
    jobs.execute("INSERT INTO jobs DEFAULT VALUES")
    role = make_role("worker")
    jobs.execute(f'GRANT SELECT, UPDATE ON jobs TO "{role}"')
    assert "no row-level security" in doctor(jobs).passed(worker_row_security)
    jobs.execute("ALTER TABLE jobs ENABLE ROW LEVEL SECURITY")
    finding = doctor(jobs).finding(worker_row_security)
    assert finding.evidence == {"roles": [role]}
    worker = jobs.connect(user=role)
    assert worker.execute("SELECT count(*) FROM jobs").fetchall() == [(0,)]
    [statement] = remedies(finding)
    jobs.execute(statement)
    assert worker.execute("SELECT count(*) FROM jobs").fetchall() == [(1,)]
    assert role in doctor(jobs).passed(worker_row_security)


@pytest.mark.parametrize(
    ("commands", "passes"), [(["SELECT"], False), (["SELECT", "UPDATE"], True), (["ALL"], True), (["DELETE"], False)]
)
def test_a_worker_needs_policies_to_read_and_to_update(
    jobs: Database, make_role: Roles, commands: list[str], *, passes: bool
) -> None:
    group = make_role("group", "NOLOGIN")
    role = make_role("worker", member_of=(group,))
    jobs.execute(f'GRANT SELECT, UPDATE ON jobs TO "{role}"')
    jobs.execute("ALTER TABLE jobs ENABLE ROW LEVEL SECURITY")
    for command in commands:
        jobs.execute(f'CREATE POLICY p_{command} ON jobs FOR {command} TO "{group}" USING (true)')
    one = doctor(jobs)
    assert one.passed(worker_row_security) if passes else one.finding(worker_row_security)


# Ids


@pytest.mark.parametrize(
    ("highest", "severity"),
    [
        (1_503_238_552, None),
        (1_503_238_553, Severity.WARNING),
        (2_040_109_464, Severity.WARNING),
        (2_040_109_465, Severity.CRITICAL),
    ],
)
def test_integer_ids_near_their_end_are_found_by_the_sequence(
    database: Database, highest: int, severity: Severity | None
) -> None:
    database.execute(FIELD_TABLE.replace("id bigint", "id int"))
    database.execute(f"SELECT setval('jobs_id_seq', {highest})")
    if severity is None:
        assert f"come to {highest:,}, 70.0%" in doctor(database).passed(id_range)
        return
    finding = doctor(database).finding(id_range)
    assert finding.severity is severity
    assert finding.evidence == {"column": "id", "highest": highest, "limit": 2**31 - 1}
    for statement in remedies(finding):
        database.execute(statement)
    assert "id (bigint)" in doctor(database).passed(id_range)


def test_a_sequence_that_ends_before_its_column_is_found_unless_it_begins_anew(database: Database) -> None:
    database.execute("CREATE SEQUENCE numbers MAXVALUE 1000")
    database.execute(FIELD_TABLE.replace("GENERATED BY DEFAULT AS IDENTITY", "DEFAULT nextval('numbers')"))
    database.execute("SELECT setval('numbers', 699)")
    assert "its sequence" in doctor(database).passed(id_range)
    database.execute("SELECT setval('numbers', 700)")
    finding = doctor(database).finding(id_range)
    database.execute("ALTER SEQUENCE numbers CYCLE")
    assert doctor(database).passed(id_range)
    database.execute("ALTER SEQUENCE numbers NO CYCLE")
    [statement] = remedies(finding)
    database.execute(statement)
    assert doctor(database).passed(id_range)


def test_another_column_s_sequence_is_not_the_id_s(database: Database) -> None:
    database.execute(FIELD_TABLE.replace("id bigint", "number serial, id int"))
    database.execute("SELECT setval('jobs_number_seq', 2147483647), setval('jobs_id_seq', 7)")
    assert "id (integer) has come to 7," in doctor(database).passed(id_range)


def test_without_a_right_to_the_sequence_the_index_tells_and_without_that_it_is_unknown(
    database: Database, make_role: Roles
) -> None:
    database.execute(FIELD_TABLE.replace("id bigint", "id int"))
    database.execute("INSERT INTO jobs (id) VALUES (2100000000)")
    role = make_role("observer", member_of=("pg_monitor",))
    database.execute(f'GRANT SELECT ON jobs TO "{role}"')
    assert doctor(database, role=role).finding(id_range).severity is Severity.CRITICAL
    database.execute("ALTER TABLE jobs DROP CONSTRAINT jobs_pkey")
    one = doctor(database, role=role)
    assert "may not be read" in one.unknown(id_range)
    database.execute(one.verdict(id_range).remedy)
    assert "come to 0," in doctor(database, role=role).passed(id_range)


def test_the_end_of_an_index_is_not_waited_for(database: Database, make_role: Roles) -> None:
    database.execute(FIELD_TABLE)
    role = make_role("observer", member_of=("pg_monitor",))
    database.execute(f'GRANT SELECT ON jobs TO "{role}"')
    one = doctor(database, role=role)
    locking = database.connect(autocommit=False)
    locking.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
    assert "lock" in one.unknown(id_range)


def test_ids_that_are_no_numbers_do_not_run_out(database: Database) -> None:
    database.execute(FIELD_TABLE.replace("id bigint GENERATED BY DEFAULT AS IDENTITY", "id uuid"))
    assert doctor(database).not_applicable(id_range)


# Indexes


def test_an_index_whose_making_failed_is_found_and_the_remedy_removes_or_makes_it(jobs: Database) -> None:
    jobs.execute("INSERT INTO jobs (queue) VALUES ('a'), ('a')")
    with pytest.raises(psycopg.errors.UniqueViolation):
        jobs.execute("CREATE UNIQUE INDEX CONCURRENTLY broken ON jobs (queue)")
    finding = doctor(jobs).finding(invalid_indexes)
    assert finding.evidence == {"indexes": ["public.broken"]}
    rebuild, drop = remedies(finding)
    jobs.execute("UPDATE jobs SET queue = id::text")
    jobs.execute(rebuild)
    assert "3 indexes" in doctor(jobs).passed(invalid_indexes)
    jobs.execute(drop)
    assert "2 indexes" in doctor(jobs).passed(invalid_indexes)


def test_what_an_interrupted_reindex_left_is_only_to_be_dropped(jobs: Database) -> None:
    jobs.execute("INSERT INTO jobs DEFAULT VALUES")
    jobs.execute("CREATE TABLE stop (at int)")
    jobs.execute("CREATE FUNCTION once(bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT $1'")
    jobs.execute("CREATE INDEX fragile ON jobs (once(id))")
    jobs.execute("CREATE OR REPLACE FUNCTION once(bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT $1 / 0'")
    with pytest.raises(psycopg.errors.DivisionByZero):
        jobs.execute("REINDEX INDEX CONCURRENTLY fragile")
    finding = doctor(jobs).finding(invalid_indexes)
    assert finding.evidence == {"indexes": ["public.fragile_ccnew"]}
    [drop] = remedies(finding)
    jobs.execute(drop)
    assert doctor(jobs).passed(invalid_indexes)


def test_an_index_that_is_being_made_is_no_finding(jobs: Database) -> None:
    blocking = jobs.connect(autocommit=False)
    blocking.execute("INSERT INTO jobs DEFAULT VALUES")
    making = jobs.connect()
    making.pgconn.send_query(b"CREATE INDEX CONCURRENTLY slow ON jobs (queue)")
    wait_until(lambda: jobs.rows("SELECT FROM pg_stat_progress_create_index WHERE index_relid <> 0"), 10)
    assert "1 being made" in doctor(jobs).passed(invalid_indexes)
    blocking.rollback()
    while making.pgconn.get_result() is not None:
        pass
    assert "3 indexes" in doctor(jobs).passed(invalid_indexes)


def test_an_index_of_a_partitioned_table_without_all_its_parts_is_found(partitioned: Database) -> None:
    partitioned.execute("CREATE INDEX whole ON jobs (queue)")
    partitioned.execute("CREATE INDEX part ON ONLY jobs (id)")
    finding = doctor(partitioned).finding(invalid_indexes)
    assert finding.evidence == {"indexes": ["public.part"]}
    [drop] = remedies(finding)
    partitioned.execute(drop)
    assert "1 index" in doctor(partitioned).passed(invalid_indexes)


DUPLICATES = [
    ("(queue)", "(queue)", True),
    ("(queue) WHERE status = 'pending'", "(queue) WHERE status = 'pending'", True),
    ("(queue) WHERE status = 'pending'", "(queue) WHERE status = 'running'", False),
    ("(queue)", "(queue) WHERE status = 'pending'", False),
    ("(queue)", "(queue DESC)", False),
    ("(queue)", "(queue text_pattern_ops)", False),
    ("(queue)", "USING hash (queue)", False),
    ("(queue, id)", "(id, queue)", False),
    ("(queue)", "(queue) INCLUDE (id)", False),
    ("(lower(queue))", "(lower(queue))", True),
    ("(lower(queue))", "(upper(queue))", False),
]


@pytest.mark.parametrize(("one", "other", "duplicate"), DUPLICATES)
def test_two_indexes_that_serve_the_same_are_found(jobs: Database, one: str, other: str, *, duplicate: bool) -> None:
    jobs.execute(f"CREATE INDEX a_first ON jobs {one}")
    jobs.execute(f"CREATE INDEX b_second ON jobs {other}")
    if not duplicate:
        assert "4 indexes, all different" in doctor(jobs).passed(duplicate_indexes)
        return
    finding = doctor(jobs).finding(duplicate_indexes)
    assert finding.evidence == {"indexes": {"public.b_second": "public.a_first"}}
    [statement] = remedies(finding)
    jobs.execute(statement)
    assert doctor(jobs).passed(duplicate_indexes)


def test_of_two_indexes_the_one_behind_the_primary_key_is_kept(jobs: Database) -> None:
    jobs.execute("CREATE UNIQUE INDEX a_copy ON jobs (id)")
    assert doctor(jobs).finding(duplicate_indexes).evidence == {"indexes": {"public.a_copy": "public.jobs_pkey"}}


def test_parts_of_an_index_on_partitions_are_no_duplicates_of_it(partitioned: Database) -> None:
    partitioned.execute("CREATE INDEX whole ON jobs (queue)")
    assert "1 index, all different" in doctor(partitioned).passed(duplicate_indexes)
    partitioned.execute("CREATE INDEX own ON jobs_later (queue)")
    partitioned.execute("CREATE INDEX twice ON jobs_later (queue)")
    assert doctor(partitioned).finding(duplicate_indexes).evidence == {"indexes": {"public.twice": "public.own"}}


def test_an_index_that_was_not_read_in_a_week_of_work_is_told(jobs: Database) -> None:
    """Nobody waits a week: only for how long the counters have counted is put in, both sides of the limit."""
    jobs.execute("CREATE INDEX unread ON jobs (locked_by)")
    jobs.execute("CREATE INDEX read_once ON jobs (queue)")
    reads = "DO $$ BEGIN SET LOCAL enable_seqscan = off; PERFORM 1 FROM jobs WHERE queue = 'q'; FOR i IN 1..{} LOOP"
    reads += " PERFORM 1 FROM jobs WHERE id = i; END LOOP; PERFORM 1 FROM jobs WHERE status = 'running'; END $$"
    scans = "SELECT pg_stat_get_numscans('jobs_pkey'::regclass) >= {}"
    counted(jobs, reads.format(999), scans.format(999))

    def after(seconds: float | None) -> Doctor:
        one = doctor(jobs)
        states = one.examination.fact(index_states.read)
        assert states.counting_seconds is not None
        assert 0 <= states.counting_seconds < 3600
        one.examination._facts[index_states.read] = replace(states, counting_seconds=seconds)
        return one

    week = 7 * 86_400.0
    assert "1,000 times" in after(week).unknown(unused_indexes)
    counted(jobs, reads.format(1), scans.format(1_000))
    finding = after(week).finding(unused_indexes)
    assert finding.severity is Severity.INFO
    assert finding.evidence["indexes"] == ["public.unread"]
    assert "a week tells more" in after(week - 1).unknown(unused_indexes)
    assert "an unknown time" in after(None).unknown(unused_indexes)
    [statement] = remedies(finding)
    jobs.execute(statement)
    assert "2 indexes" in after(week).passed(unused_indexes)


# Statistics


def test_statistics_that_are_far_behind_are_found_and_the_remedy_refreshes_them(jobs: Database) -> None:
    jobs.execute("ALTER TABLE jobs SET (autovacuum_enabled = off)")
    insert(jobs, 10_000)
    assert "10,000 changes" in doctor(jobs).passed(stale_statistics)
    insert(jobs, 10_001)
    finding = doctor(jobs).finding(stale_statistics)
    assert finding.severity is Severity.WARNING
    assert finding.evidence == {"changed": {"public.jobs": 10_001 + 10_000}}
    [statement] = remedies(finding)
    counted(jobs, statement, "SELECT pg_stat_get_analyze_count('jobs'::regclass) = 1")
    assert "0 changes since ANALYZE" in doctor(jobs).passed(stale_statistics)


def test_a_partitioned_table_that_nobody_analyzed_is_told(partitioned: Database) -> None:
    partitioned.execute("INSERT INTO jobs (status) SELECT 'done' FROM generate_series(1, 10000)")
    analyzed = "SELECT pg_stat_get_analyze_count('jobs_later'::regclass) = {}"
    counted(partitioned, "ANALYZE jobs_later", analyzed.format(1))
    assert doctor(partitioned).passed(stale_statistics)
    partitioned.execute("INSERT INTO jobs (status) VALUES ('done')")
    counted(partitioned, "ANALYZE jobs_later", analyzed.format(2))
    finding = doctor(partitioned).finding(stale_statistics)
    assert finding.severity is Severity.INFO
    assert finding.evidence == {"tables": ["public.jobs"]}
    [statement] = remedies(finding)
    counts = ", ".join(f"pg_stat_get_analyze_count('{name}'::regclass)" for name in YEARS)
    counted(partitioned, statement, f"SELECT ({counts}) = (1, 1, 3)")
    assert doctor(partitioned).passed(stale_statistics)


def test_counters_that_were_lost_in_a_crash_tell_nothing(jobs: Database) -> None:
    look = (one := doctor(jobs)).examination.look
    assert look.health is not None
    lost = replace(look, health=replace(look.health, statistics_lost=True))
    assert "crash" in Doctor(replace(one.examination, look=lost)).unknown(stale_statistics)


# Partitions, persistence, replication


def burn(database: Database, transactions: int) -> None:
    database.execute(
        f"DO $$ BEGIN FOR i IN 1..{transactions} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"
    )


def test_partitions_that_are_over_and_half_way_to_a_forced_vacuum_are_found(partitioned: Database) -> None:
    for name in YEARS:
        partitioned.execute(f"ALTER TABLE {name} SET (autovacuum_freeze_max_age = 100000, autovacuum_enabled = off)")
    assert "2 partitions over" in doctor(partitioned).passed(partition_freezing)
    burn(partitioned, 50_001)
    finding = doctor(partitioned).finding(partition_freezing)
    assert finding.severity is Severity.WARNING
    assert set(finding.evidence["xid_ages"]) == {"public.jobs_2020", "public.jobs_2021"}
    assert all(age > 50_000 for age in finding.evidence["xid_ages"].values())
    first, second = remedies(finding)
    partitioned.execute(first)
    assert set(doctor(partitioned).finding(partition_freezing).evidence["xid_ages"]) == {"public.jobs_2021"}
    partitioned.execute(second)
    assert doctor(partitioned).passed(partition_freezing)


def test_bounds_that_are_no_times_and_hash_parts_of_days_are_judged_rightly(database: Database) -> None:
    database.execute(OF_DAYS)
    database.execute(
        "CREATE TABLE y2020 PARTITION OF jobs FOR VALUES FROM ('2020-01-01') TO ('2021-01-01') PARTITION BY HASH (id)"
    )
    database.execute("CREATE TABLE y2020_0 PARTITION OF y2020 FOR VALUES WITH (MODULUS 1, REMAINDER 0)")
    database.execute("CREATE TABLE rest PARTITION OF jobs DEFAULT")
    assert "1 partition over" in doctor(database).passed(partition_freezing)


def test_numbers_and_texts_that_look_like_times_are_no_ranges_of_time(database: Database) -> None:
    database.execute(OF_DAYS.replace("RANGE (run_at)", "RANGE (queue)"))
    database.execute("CREATE TABLE part PARTITION OF jobs FOR VALUES FROM ('2020-01-01 x') TO ('2021-01-01 x')")
    assert doctor(database).not_applicable(partition_freezing)


def test_an_unlogged_table_is_found_and_the_remedy_logs_it(database: Database) -> None:
    database.execute(FIELD_TABLE.replace("CREATE TABLE", "CREATE UNLOGGED TABLE"))
    finding = doctor(database).finding(unlogged_table)
    assert finding.severity is Severity.WARNING
    assert finding.evidence == {"tables": ["public.jobs"]}
    [statement] = remedies(finding)
    database.execute(statement)
    assert "1 table" in doctor(database).passed(unlogged_table)


def test_an_unlogged_partition_is_found(database: Database) -> None:
    database.execute(OF_DAYS)
    database.execute("CREATE UNLOGGED TABLE part PARTITION OF jobs FOR VALUES FROM ('2020-01-01') TO (MAXVALUE)")
    assert doctor(database).finding(unlogged_table).evidence == {"tables": ["public.part"]}


def test_a_published_table_without_an_identity_fails_each_claim_until_the_remedy_is_run(database: Database) -> None:
    database.execute(FIELD_TABLE.replace(" PRIMARY KEY", ""))
    database.execute("INSERT INTO jobs DEFAULT VALUES")
    database.execute("CREATE PUBLICATION inserts FOR TABLE jobs WITH (publish = 'insert')")
    assert doctor(database, SMALL).not_applicable(replica_identity)
    database.execute("CREATE PUBLICATION all_changes FOR TABLE jobs")
    finding = doctor(database, SMALL).finding(replica_identity)
    assert finding.severity is Severity.CRITICAL
    assert finding.evidence == {"tables": ["public.jobs"], "publications": ["all_changes"]}
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
        database.execute("UPDATE jobs SET status = 'running'")
    [statement] = remedies(finding)
    database.execute(statement)
    assert database.execute("UPDATE jobs SET status = 'running'") == 1
    assert "all_changes" in doctor(database, SMALL).passed(replica_identity)


@pytest.mark.parametrize(
    ("identity", "passes"),
    [("DEFAULT", True), ("NOTHING", False), ("FULL", True), ("USING INDEX other", True)],
)
def test_every_kind_of_identity_is_known(jobs: Database, identity: str, *, passes: bool) -> None:
    jobs.execute("CREATE UNIQUE INDEX other ON jobs (id)")
    jobs.execute(f"ALTER TABLE jobs REPLICA IDENTITY {identity}")
    jobs.execute("CREATE PUBLICATION everything FOR ALL TABLES")
    one = doctor(jobs)
    assert one.passed(replica_identity) if passes else one.finding(replica_identity)


def test_partitions_published_by_their_parent_or_their_schema_need_an_identity_too(
    partitioned: Database, pg_major: int
) -> None:
    partitioned.execute("ALTER TABLE jobs_2020 REPLICA IDENTITY FULL")
    partitioned.execute("CREATE PUBLICATION above FOR TABLE jobs")
    expected = ["public.jobs_2021", "public.jobs_later"]
    assert doctor(partitioned).finding(replica_identity).evidence["tables"] == expected
    partitioned.execute("DROP PUBLICATION above")
    assert doctor(partitioned).not_applicable(replica_identity)
    if pg_major >= 15:
        partitioned.execute("CREATE PUBLICATION by_schema FOR TABLES IN SCHEMA public")
        assert doctor(partitioned).finding(replica_identity).evidence["tables"] == expected
