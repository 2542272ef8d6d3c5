"""What the workers' own statements show: the points that read pg_stat_statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.production import claim_in_one_statement, claims_and_foreign_keys, fenced_completion
from tests.support.article_tables import (
    LEASE_CLAIM,
    LEASE_COMPLETE,
    LEASE_HEARTBEAT,
    LEASE_TABLE,
    STARTED_AT_CLAIM,
    STARTED_AT_COMPLETE,
    STARTED_AT_TABLE,
)
from tests.support.binding import LEASE
from tests.support.doctor_points import doctor

if TYPE_CHECKING:
    from pgq_ops.checks.production.registry import Point
    from tests.support.database import Database
    from tests.support.roles import Roles

STARTED_AT = '[job_tables.jobs]\ntable = "jobs"\npreset = "started-at"\n'
JOB = {"worker": "w", "lease_seconds": 60, "job": 1, "version": 1}
POINTS = (claim_in_one_statement, fenced_completion)

SELECT_ONLY = """
SELECT id FROM demo_queue_jobs WHERE status = 'pending' ORDER BY available_at
FOR NO KEY UPDATE SKIP LOCKED LIMIT 1
"""
BY_ID_ALONE = "UPDATE demo_queue_jobs SET status = 'done' WHERE id = %(job)s"


@pytest.fixture
def counted(database: Database) -> Database:
    """A database with the lease table, whose statements are counted."""
    database.execute("CREATE EXTENSION pg_stat_statements")
    database.execute(LEASE_TABLE)
    return database


def work(database: Database, *statements: str, times: int = 1) -> None:
    for statement in statements * times:
        database.execute(statement, JOB)


def test_the_article_s_own_statements_pass(counted: Database) -> None:
    work(counted, LEASE_CLAIM, LEASE_HEARTBEAT, LEASE_COMPLETE, times=3)
    one = doctor(counted, LEASE)
    assert "3 claims seen" in one.passed(claim_in_one_statement)
    assert one.passed(fenced_completion) == "3 completions seen"


def test_a_select_that_leaves_the_marking_to_a_second_statement_is_found(counted: Database) -> None:
    work(counted, SELECT_ONLY, times=5)
    found = doctor(counted, LEASE).finding(claim_in_one_statement)
    assert found.severity == "warning"
    assert "5 calls" in found.summary
    assert found.evidence["statements"] == [" ".join(SELECT_ONLY.replace("'pending'", "$1").split())[:-1] + "$2"]
    assert all(line.startswith("-- ") for line in found.remedy.splitlines())


def test_a_claim_that_selects_in_a_with_clause_is_one_statement(counted: Database) -> None:
    work(
        counted,
        "WITH taken AS (SELECT id FROM \"demo_queue_jobs\" WHERE status = 'pending' FOR UPDATE SKIP LOCKED LIMIT 1)"
        " UPDATE public.demo_queue_jobs AS d SET status = 'running' FROM taken WHERE d.id = taken.id RETURNING d.*",
    )
    assert doctor(counted, LEASE).passed(claim_in_one_statement)


@pytest.mark.parametrize(
    ("condition", "fenced"),
    [
        ("id = %(job)s", False),
        ("id = %(job)s AND status = 'running'", False),
        ("id = ANY (ARRAY[%(job)s])", False),
        ("id = %(job)s -- AND claim_version = 1\n", False),
        ("id = %(job)s AND claim_version = %(version)s", True),
        ('"demo_queue_jobs"."id" = %(job)s AND "demo_queue_jobs"."lease_until" > now()', True),
        ("id = %(job)s AND status = 'running' AND attempts = %(version)s", True),
    ],
)
def test_a_completion_is_fenced_by_what_another_claim_changes(
    counted: Database,
    condition: str,
    fenced: bool,  # noqa: FBT001
) -> None:
    completion = f"UPDATE demo_queue_jobs SET status = 'done', lease_until = NULL WHERE {condition} RETURNING id"
    work(counted, LEASE_CLAIM, completion)
    one = doctor(counted, LEASE)
    if fenced:
        assert one.passed(fenced_completion)
    else:
        found = one.finding(fenced_completion)
        assert "1 time a job" in found.summary
        assert 'AND "claim_version" = <the claim\'s>' in found.remedy


@pytest.mark.parametrize(
    "state",
    [
        "CASE WHEN claim_version = %(version)s THEN 'done' ELSE status END",
        "CASE claim_version WHEN %(version)s THEN 'done' ELSE status END",
        "COALESCE((SELECT 'done' WHERE claimed_by = %(worker)s), status)",
    ],
)
def test_a_fence_in_what_a_completion_sets_is_not_told_by_its_text(counted: Database, state: str) -> None:
    work(counted, LEASE_CLAIM, f"UPDATE demo_queue_jobs SET status = {state}, lease_until = NULL WHERE id = %(job)s")
    assert "is not told by their texts: UPDATE" in doctor(counted, LEASE).unknown(fenced_completion)
    work(counted, BY_ID_ALONE)
    assert len(doctor(counted, LEASE).finding(fenced_completion).evidence["statements"]) == 1


def test_a_person_s_few_selects_are_not_the_workers_claims(counted: Database) -> None:
    work(counted, SELECT_ONLY)
    text = doctor(counted, LEASE).unknown(claim_in_one_statement)
    assert text == "1 claim seen may be a person's: 5 would tell"
    work(counted, LEASE_CLAIM, times=10)
    assert doctor(counted, LEASE).passed(claim_in_one_statement)
    work(counted, SELECT_ONLY, times=2)
    assert "3 calls" in doctor(counted, LEASE).finding(claim_in_one_statement).summary


def test_deleting_a_finished_job_by_its_id_alone_is_a_completion_too(counted: Database) -> None:
    work(counted, "DELETE FROM ONLY demo_queue_jobs WHERE id = %(job)s")
    assert doctor(counted, LEASE).finding(fenced_completion)


@pytest.mark.parametrize(("by_hand", "found"), [(1, False), (2, True)])
def test_statements_that_are_a_tenth_of_all_completions_count(
    counted: Database,
    by_hand: int,
    found: bool,  # noqa: FBT001
) -> None:
    work(counted, LEASE_CLAIM, LEASE_COMPLETE, times=15)
    work(counted, BY_ID_ALONE, times=by_hand)
    one = doctor(counted, LEASE)
    assert one.finding(fenced_completion) if found else one.passed(fenced_completion)


MARKS = [
    "status = 'running', attempts = attempts + 1",
    "status = 'running', lease_until = now() + interval '1 minute', claimed_by = %(worker)s",
    "(status, lease_until) = ('running', now() + make_interval(secs => %(lease_seconds)s))",
]


@pytest.mark.parametrize("mark", MARKS)
def test_the_mark_of_a_claim_that_selects_first_is_no_completion(counted: Database, mark: str) -> None:
    claim = (SELECT_ONLY, f"UPDATE demo_queue_jobs SET {mark} WHERE id = %(job)s")
    work(counted, *claim, times=3)
    assert "no completion" in doctor(counted, LEASE).unknown(fenced_completion)
    work(counted, *claim, BY_ID_ALONE, times=2)
    found = doctor(counted, LEASE).finding(fenced_completion)
    assert "2 times a job" in found.summary
    assert len(found.evidence["statements"]) == 1


@pytest.mark.parametrize(
    "sets", ["status = 'running'", "status = 'done', lease_until = NULL", "status = 'x', claimed_by = %(worker)s"]
)
def test_what_sets_the_state_to_a_parameter_is_untold_where_the_claim_s_mark_is_not_known(
    counted: Database, sets: str
) -> None:
    work(counted, SELECT_ONLY, f"UPDATE demo_queue_jobs SET {sets} WHERE id = %(job)s")
    text = doctor(counted, LEASE).unknown(fenced_completion)
    assert "marks a claim or completes a job is not told" in text
    assert "UPDATE demo_queue_jobs SET status = $" in text
    work(counted, SELECT_ONLY, "DELETE FROM demo_queue_jobs WHERE id = %(job)s")
    assert len(doctor(counted, LEASE).finding(fenced_completion).evidence["statements"]) == 1


def test_changes_that_complete_nothing_are_not_taken_for_completions(counted: Database) -> None:
    work(
        counted,
        LEASE_CLAIM,
        LEASE_HEARTBEAT,
        "UPDATE demo_queue_jobs SET payload = '{}' WHERE id = %(job)s",
        "UPDATE demo_queue_jobs SET status = 'pending' WHERE status = 'running' AND lease_until < now()",
        "DELETE FROM demo_queue_jobs WHERE id IN (SELECT id FROM demo_queue_jobs WHERE status = 'done' LIMIT 100)",
        "INSERT INTO demo_queue_jobs (payload) VALUES ('{}')",
        "SELECT * FROM demo_queue_jobs WHERE id = %(job)s FOR UPDATE",
    )
    text = doctor(counted, LEASE).unknown(fenced_completion)
    assert "no completion of public.demo_queue_jobs has been counted" in text
    assert "pg_stat_statements.track = all" in text


def test_a_table_whose_name_only_begins_alike_is_another_one(counted: Database) -> None:
    counted.execute("CREATE TABLE demo_queue_jobs_old (LIKE demo_queue_jobs)")
    work(counted, "UPDATE demo_queue_jobs_old SET status = 'done' WHERE id = %(job)s")
    work(counted, SELECT_ONLY.replace("demo_queue_jobs", "demo_queue_jobs_old"))
    one = doctor(counted, LEASE)
    assert one.unknown(fenced_completion)
    assert one.unknown(claim_in_one_statement)


def test_the_other_article_s_completion_is_not_fenced(database: Database) -> None:
    database.execute("CREATE EXTENSION pg_stat_statements")
    database.execute(STARTED_AT_TABLE)
    work(database, STARTED_AT_CLAIM, STARTED_AT_COMPLETE)
    one = doctor(database, STARTED_AT)
    assert one.passed(claim_in_one_statement)
    assert one.finding(fenced_completion).evidence["statements"] == [
        "UPDATE jobs SET status = $2 WHERE id = $1 AND status = $3"
    ]


def test_a_select_inside_a_function_is_part_of_one_statement(counted: Database) -> None:
    counted.execute(f"""
        CREATE FUNCTION take() RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE found bigint; BEGIN {SELECT_ONLY.replace("SELECT id", "SELECT id INTO found")};
        UPDATE demo_queue_jobs SET status = 'running' WHERE id = found; RETURN found; END $$;
        SET pg_stat_statements.track = 'all';
    """)
    counted.execute("SELECT take()")
    assert doctor(counted, LEASE).unknown(claim_in_one_statement) == "only claims inside functions were seen"


def test_claims_for_update_of_a_table_that_others_refer_to_are_found(counted: Database) -> None:
    counted.execute(
        "CREATE TABLE users (id int PRIMARY KEY); ALTER TABLE demo_queue_jobs ADD owner int REFERENCES users"
    )
    work(counted, LEASE_CLAIM)
    assert "no table refers" in doctor(counted, LEASE).passed(claims_and_foreign_keys)
    counted.execute("CREATE TABLE events (job bigint REFERENCES demo_queue_jobs)")
    found = doctor(counted, LEASE).finding(claims_and_foreign_keys)
    assert found.severity == "info"
    assert "public.events" in found.summary
    assert found.evidence["constraints"] == ["events_job_fkey"]
    counted.execute(
        "SELECT pg_stat_statements_reset(0, (SELECT oid FROM pg_database WHERE datname = current_database()), 0)"
    )
    work(counted, LEASE_CLAIM.replace("FOR UPDATE", "FOR NO KEY UPDATE"))
    assert doctor(counted, LEASE).passed(claims_and_foreign_keys) == "claims lock FOR NO KEY UPDATE"


@pytest.mark.parametrize("point", POINTS)
def test_without_the_extension_the_way_to_get_it_is_told(database: Database, point: Point) -> None:
    database.execute(LEASE_TABLE)
    verdict = doctor(database, LEASE).verdict(point)
    assert verdict.outcome == "unknown"
    assert verdict.text == "the extension pg_stat_statements is not here"
    assert verdict.remedy == "CREATE EXTENSION pg_stat_statements;"


@pytest.mark.parametrize("point", POINTS)
def test_a_role_that_does_not_see_others_texts_is_told_the_grant(
    counted: Database, make_role: Roles, point: Point
) -> None:
    work(counted, LEASE_CLAIM, LEASE_COMPLETE)
    blind, seeing = make_role("blind"), make_role("seeing", member_of=("pg_monitor",))
    for role in (blind, seeing):
        counted.execute(f'GRANT SELECT ON demo_queue_jobs TO "{role}"')
    verdict = doctor(counted, LEASE, role=blind).verdict(point)
    assert (verdict.outcome, verdict.remedy) == ("unknown", f'GRANT pg_read_all_stats TO "{blind}";')
    assert doctor(counted, LEASE, role=seeing).passed(point)
