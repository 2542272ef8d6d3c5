"""What the texts of pg_stat_statements tell of claims."""

from __future__ import annotations

import pytest

from pgq_ops.job_table.table import Relation
from pgq_ops.stats.claim_text import claims_from, passes_as_parameter

JOBS = Relation(1, "public", "jobs")
ODD = Relation(2, "Ops-Q", 'The "Order" %')


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM jobs WHERE status = $1 FOR UPDATE SKIP LOCKED",
        "select id from JOBS for no key update skip\n  locked",
        'SELECT id FROM "jobs" j FOR UPDATE OF j SKIP LOCKED',
        "SELECT id FROM public.jobs FOR UPDATE SKIP LOCKED",
        'SELECT id FROM "public" . "jobs" FOR UPDATE SKIP LOCKED',
        "SELECT id FROM ONLY jobs FOR UPDATE SKIP LOCKED",
        "SELECT id FROM queues q, jobs j FOR UPDATE OF j SKIP LOCKED",
        "SELECT id FROM queues q JOIN jobs j USING (q) FOR UPDATE OF j SKIP LOCKED",
        "UPDATE jobs SET status = $1 WHERE id = (SELECT id FROM other FOR UPDATE SKIP LOCKED)",
        "WITH next AS (SELECT id FROM jobs LIMIT $1 FOR UPDATE SKIP LOCKED) DELETE FROM jobs USING next",
        "/* worker 7 */ -- claim\n(SELECT id FROM jobs FOR UPDATE SKIP LOCKED)",
    ],
)
def test_a_claim_is_known_however_it_spells_the_table(text: str) -> None:
    assert claims_from(text, JOBS, bare_name=True)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM jobs FOR UPDATE",
        "SELECT id FROM jobs_archive FOR UPDATE SKIP LOCKED",
        "SELECT id FROM old_jobs FOR UPDATE SKIP LOCKED",
        "SELECT id FROM other.jobs FOR UPDATE SKIP LOCKED",
        "SELECT id FROM jobs.events FOR UPDATE SKIP LOCKED",
        'SELECT id FROM "Jobs" FOR UPDATE SKIP LOCKED',
        "SELECT jobs FROM workers FOR UPDATE SKIP LOCKED",
        "CREATE FUNCTION claim() RETURNS jobs AS $$ SELECT * FROM jobs FOR UPDATE SKIP LOCKED $$",
        "DO $$ BEGIN PERFORM FROM jobs FOR UPDATE SKIP LOCKED; END $$",
        "EXPLAIN SELECT id FROM jobs FOR UPDATE SKIP LOCKED",
        "",
    ],
)
def test_what_is_no_claim_of_the_table_is_not_taken_for_one(text: str) -> None:
    assert not claims_from(text, JOBS, bare_name=True)


def test_where_a_bare_name_means_another_table_only_the_qualified_one_counts() -> None:
    assert not claims_from("SELECT id FROM jobs FOR UPDATE SKIP LOCKED", JOBS, bare_name=False)
    assert claims_from("SELECT id FROM public.jobs FOR UPDATE SKIP LOCKED", JOBS, bare_name=False)


def test_an_odd_name_counts_as_it_has_to_be_quoted() -> None:
    text = 'SELECT id FROM "Ops-Q"."The ""Order"" %" FOR UPDATE SKIP LOCKED'
    assert claims_from(text, ODD, bare_name=False)
    assert not claims_from(text.lower(), ODD, bare_name=False)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        # Two constants, or a parameter and a constant: nobody can tell.
        ("SELECT id FROM jobs WHERE status = $1 LIMIT $2", False),
        ("SELECT id FROM jobs WHERE status = $2 AND queue = $1 LIMIT $3", False),
        # Behind a higher number, or one that comes twice, or below such a one.
        ("SELECT id FROM jobs WHERE queue = $2 AND status = $1 LIMIT $3", True),
        ("SELECT id FROM jobs WHERE status = $1 AND queue = $2 AND kind = $2", True),
        ('UPDATE jobs SET by = $1 WHERE id = (SELECT id FROM jobs WHERE j."status" IN ($2, $3) AND queue <> $3)', True),
        ("SELECT id FROM jobs WHERE queue = $2 AND kind = $1 AND status = $3", False),
        ("SELECT id FROM jobs WHERE old_status = $2 AND queue = $1", False),
        ("SELECT id FROM jobs", False),
    ],
)
def test_a_parameter_is_told_from_a_constant_where_that_is_certain(text: str, known: bool) -> None:  # noqa: FBT001
    assert passes_as_parameter([text], "status") is known
    assert passes_as_parameter(["SELECT 1", text], "status") is known
