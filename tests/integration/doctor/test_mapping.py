"""What the mapping lacks: each point passes with the column or state mapped, and says how to get it where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.production import (
    attempts_mapped,
    backoff_mapped,
    dead_state_mapped,
    lease_mapped,
    version_mapped,
)
from pgq_ops.schema import versions
from tests.support.article_tables import STARTED_AT_TABLE
from tests.support.doctor_points import doctor
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from pgq_ops.checks.production.registry import Point
    from tests.support.database import Database

# Nothing asks for the reaper, which needs all of the mapping.
WATCHED = FIELD.partition("[job_tables.jobs.reaper]")[0]
STARTED_AT = '[job_tables.jobs]\ntable = "jobs"\npreset = "started-at"\n'


@pytest.fixture
def jobs(database: Database) -> Database:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD claim_version bigint NOT NULL DEFAULT 0")
    return database


def without(*lines: str) -> str:
    toml = WATCHED
    for line in lines:
        assert f"{line}\n" in toml
        toml = toml.replace(f"{line}\n", "")
    return toml


def new_columns(remedy: str) -> list[str]:
    return [line for line in remedy.splitlines() if line.startswith("ALTER TABLE")]


@pytest.mark.parametrize(
    ("point", "line"),
    [
        (lease_mapped, 'lease_expires_at = "lease_until"'),
        (attempts_mapped, 'attempts = "attempts"'),
        (backoff_mapped, 'available_at = "run_at"'),
    ],
    ids=lambda value: getattr(value, "ID", None),
)
def test_what_the_mapping_has_passes_and_what_it_lacks_is_found(jobs: Database, point: Point, line: str) -> None:
    assert doctor(jobs).passed(point)
    found = doctor(jobs, without(line)).finding(point)
    assert found.severity == "warning"
    assert "[job_tables.jobs." in found.remedy


def test_a_version_is_mapped_or_what_may_stand_in_for_it_is_told(jobs: Database) -> None:
    versioned = WATCHED.replace('owner = "locked_by"', 'owner = "locked_by"\nversion = "claim_version"')
    assert doctor(jobs, versioned).passed(version_mapped) == "claim_version"
    found = doctor(jobs).finding(version_mapped)
    assert (found.severity, found.evidence) == ("info", {"instead": ["owner", "attempts"]})
    bare = without('owner = "locked_by"', 'attempts = "attempts"')
    assert doctor(jobs, bare).finding(version_mapped).evidence == {"instead": []}


@pytest.mark.parametrize("field", ["lease_expires_at", "attempts", "available_at", "version"])
def test_the_column_that_a_remedy_adds_can_be_added_and_mapped(database: Database, field: str) -> None:
    """Quoted, with a name that needs it."""
    point = {
        "lease_expires_at": lease_mapped,
        "attempts": attempts_mapped,
        "available_at": backoff_mapped,
        "version": version_mapped,
    }[field]
    database.execute("""CREATE SCHEMA "Ops"; CREATE TABLE "Ops"."my 100%" (id bigint PRIMARY KEY, status text)""")
    toml = """
        [job_tables."my jobs"]
        table = '"Ops"."my 100%"'
        [job_tables."my jobs".states]
        pending = ["pending"]
        running = ["running"]
        done = ["done"]
        dead = ["dead"]
        [job_tables."my jobs".columns]
        id = "id"
        state = "status"
    """
    remedy = doctor(database, toml).finding(point).remedy
    [statement] = new_columns(remedy)
    database.execute(statement)
    section = '[job_tables."my jobs".columns]'
    [head, line] = remedy.splitlines()[-2:]
    assert head == section
    assert doctor(database, toml.replace("        ", "") + line + "\n").passed(point)


@pytest.mark.parametrize("field", ["heartbeat_at", "leased_at"])
def test_a_heartbeat_or_a_claim_time_is_a_lease_too(jobs: Database, field: str) -> None:
    toml = WATCHED.replace("lease_expires_at", field) + '[job_tables.jobs.lease]\ntimeout = "5m"\n'
    assert doctor(jobs, toml).passed(lease_mapped) == field


def test_a_longest_runtime_needs_the_time_of_the_claim(jobs: Database) -> None:
    lease = '[job_tables.jobs.lease]\nmax_runtime = "4h"\n'
    assert "lease.max_runtime finds no job that runs too long" in doctor(jobs, WATCHED + lease).passed(lease_mapped)
    claimed = WATCHED.replace("lease_expires_at", "leased_at") + lease + 'timeout = "5m"\n'
    assert doctor(jobs, claimed).passed(lease_mapped) == "leased_at"


def test_attempts_that_the_reaper_counts_in_its_log_are_only_worth_a_remark(jobs: Database) -> None:
    toml = without('attempts = "attempts"')
    assert "nothing counts them" in doctor(jobs, toml).finding(attempts_mapped).summary
    versions.install(jobs.connect())
    found = doctor(jobs, toml).finding(attempts_mapped)
    assert (found.severity, found.evidence) == ("info", {"counted_by_reaper": True})
    jobs.execute("ALTER TABLE jobs DROP CONSTRAINT jobs_pkey")
    assert doctor(jobs, toml).finding(attempts_mapped).severity == "warning"


def test_an_available_time_that_nothing_can_write_puts_no_job_off(jobs: Database) -> None:
    toml = WATCHED.replace('available_at = "run_at"', "available_at = { sql = \"run_at + interval '1 s'\" }")
    assert "is an expression" in doctor(jobs, toml).finding(backoff_mapped).summary


def test_poison_jobs_can_be_buried_where_the_dead_state_can_be_written_or_in_a_table_of_their_own(
    jobs: Database,
) -> None:
    assert doctor(jobs, WATCHED).passed(dead_state_mapped) == "as a state of their own"
    read_only = WATCHED.replace('dead = ["dead"]', "dead = { where = \"status = 'dead'\" }")
    found = doctor(jobs, read_only).finding(dead_state_mapped)
    assert (found.severity, found.evidence) == ("info", {"mapped": ["dead", "done", "pending", "running"]})
    jobs.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    elsewhere = without('dead = ["dead"]') + '[job_tables.jobs.reaper]\ndead_letter_table = "dead_jobs"\n'
    assert doctor(jobs, elsewhere).passed(dead_state_mapped) == "in public.dead_jobs"


def test_the_other_article_s_table_lacks_only_a_version(database: Database) -> None:
    database.execute(STARTED_AT_TABLE)
    one = doctor(database, STARTED_AT)
    for point in (lease_mapped, attempts_mapped, backoff_mapped, dead_state_mapped):
        assert one.passed(point)
    assert one.finding(version_mapped).evidence == {"instead": ["attempts"]}
