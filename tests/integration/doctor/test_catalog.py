"""The points about the table itself: foreign keys, triggers, row-level security, ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from tests.support.doctor_points import doctor, remedies
from tests.support.jobs import FIELD_TABLE

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles


def test_a_fresh_table_gives_no_finding_at_all(jobs: Database) -> None:
    one = doctor(jobs)
    points = (duplicate_indexes, id_range, invalid_indexes, stale_statistics, unlogged_table, worker_row_security)
    assert all(one.passed(point) for point in points)
    nothing = (delete_cascades, incoming_foreign_keys, outgoing_foreign_keys, partition_freezing, replica_identity)
    assert all(one.not_applicable(point) for point in (*nothing, row_triggers))
    assert "not read so far" in one.unknown(unused_indexes)


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


def test_keys_between_other_tables_do_not_count_and_those_of_partitions_count_once(partitioned: Database) -> None:
    partitioned.execute("CREATE TABLE customers (id bigint PRIMARY KEY)")
    partitioned.execute("CREATE TABLE bills (customer bigint REFERENCES customers ON DELETE CASCADE)")
    one = doctor(partitioned)
    assert one.not_applicable(incoming_foreign_keys)
    assert one.not_applicable(outgoing_foreign_keys)
    partitioned.execute("ALTER TABLE jobs ADD customer bigint REFERENCES customers")
    partitioned.execute("CREATE INDEX ON jobs (customer)")
    assert "1 foreign key to public.customers" in doctor(partitioned).passed(outgoing_foreign_keys)


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


def trigger(database: Database, body: str, when: str) -> None:
    database.execute(f"CREATE FUNCTION fired() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$")
    database.execute(f"CREATE TRIGGER watched {when} ON jobs FOR EACH ROW EXECUTE FUNCTION fired()")


@pytest.mark.parametrize(
    ("body", "when", "severity"),
    [
        ("RETURN NULL;", "BEFORE UPDATE OF status", Severity.WARNING),
        ("RETURN NULL;", "AFTER UPDATE OF status", None),
        ("RETURN NULL;", "BEFORE DELETE", None),
        ("RETURN NULL;", "BEFORE INSERT", Severity.WARNING),
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
