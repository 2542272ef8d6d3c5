"""The points about partitions, about what a crash leaves, and about replication."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from pgq_ops.checks.finding import Severity
from pgq_ops.checks.production import (
    partition_freezing,
    replica_identity,
    unlogged_table,
)
from tests.support.doctor_points import BY_RUN_AT, YEARS, doctor, remedies
from tests.support.jobs import FIELD_TABLE, SMALL

if TYPE_CHECKING:
    from tests.support.database import Database


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
    database.execute(BY_RUN_AT)
    database.execute(
        "CREATE TABLE y2020 PARTITION OF jobs FOR VALUES FROM ('2020-01-01') TO ('2021-01-01') PARTITION BY HASH (id)"
    )
    database.execute("CREATE TABLE y2020_0 PARTITION OF y2020 FOR VALUES WITH (MODULUS 1, REMAINDER 0)")
    database.execute("CREATE TABLE rest PARTITION OF jobs DEFAULT")
    assert "1 partition over" in doctor(database).passed(partition_freezing)


def test_numbers_and_texts_that_look_like_times_are_no_ranges_of_time(database: Database) -> None:
    database.execute(BY_RUN_AT.replace("RANGE (run_at)", "RANGE (queue)"))
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
    database.execute(BY_RUN_AT)
    database.execute("CREATE UNLOGGED TABLE part PARTITION OF jobs FOR VALUES FROM ('2020-01-01') TO (MAXVALUE)")
    assert doctor(database).finding(unlogged_table).evidence == {"tables": ["public.part"]}


def test_a_published_table_without_an_identity_fails_each_claim_until_the_remedy_is_run(database: Database) -> None:
    database.execute(FIELD_TABLE.replace(" PRIMARY KEY", ""))
    database.execute("INSERT INTO jobs DEFAULT VALUES")
    database.execute("CREATE PUBLICATION inserts FOR TABLE jobs WITH (publish = 'insert')")
    assert doctor(database, SMALL).not_applicable(replica_identity)
    database.execute("CREATE PUBLICATION all_changes FOR TABLE jobs WITH (publish = 'update')")
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
        partitioned.execute("CREATE SCHEMA other; CREATE PUBLICATION elsewhere FOR TABLES IN SCHEMA other")
        partitioned.execute("CREATE PUBLICATION inserts FOR TABLES IN SCHEMA public WITH (publish = 'insert')")
        assert doctor(partitioned).not_applicable(replica_identity)
        partitioned.execute("CREATE PUBLICATION by_schema FOR TABLES IN SCHEMA public WITH (publish = 'update')")
        evidence = doctor(partitioned).finding(replica_identity).evidence
        assert evidence == {"tables": expected, "publications": ["by_schema"]}
