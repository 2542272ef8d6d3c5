"""The demo's claims, judged on a short run that went well, and on the same run with one thing spoiled."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.demo.evidence import gather
from pgq_ops.demo.producer import Producer
from pgq_ops.demo.statements import statement
from pgq_ops.demo.summary import Summary
from pgq_ops.demo.table import make_tables
from pgq_ops.demo.worker import Claim, Worker

if TYPE_CHECKING:
    import psycopg

    from tests.support.database import Database

CAP = 3
JOBS = {"poison": 1, "completed": 2, "killed": 3, "hung": 4}
EXPIRE = "UPDATE demo_queue_jobs SET lease_until = now() - interval '1 s' WHERE status = 'running'"
REAP = """
UPDATE demo_queue_jobs SET status = CASE WHEN attempts >= %(cap)s THEN 'failed' ELSE 'pending' END
WHERE status = 'running' AND lease_until < now()
"""


def note(connection: psycopg.Connection[Any], event: str, worker: str, claim: Claim | None = None) -> None:
    job, version = (claim.job, claim.version) if claim else (None, None)
    parameters = {"event": event, "worker": worker, "job": job, "version": version}
    connection.execute(statement("note"), parameters)


def worker(database: Database, name: str) -> Worker:
    def record(connection: psycopg.Connection[Any], event: str, claim: Claim) -> None:
        note(connection, event, name, claim)

    return Worker(name, database.dsn, database.connect(), timedelta(minutes=1), record)


def claim_of(who: Worker) -> Claim:
    claim = who.claim()
    assert claim is not None
    return claim


@pytest.fixture
def connection(database: Database) -> psycopg.Connection[Any]:
    """A run that went well: one job completed, one whose worker was killed, one whose worker hung, one poison."""
    connection = database.connect()
    make_tables(connection)
    producer = Producer(connection, workers=1)
    producer.enqueue_poison(1)
    for attempt in range(1, CAP + 1):
        poisoned = claim_of(worker(database, f"poisoned-{attempt}"))
        assert (poisoned.job, poisoned.version) == (JOBS["poison"], attempt)
        note(connection, "poisoned", f"poisoned-{attempt}")
        connection.execute(EXPIRE)
        connection.execute(REAP, {"cap": CAP})
    connection.execute(
        statement("enqueue"),
        {"payloads": ['{"poison": false, "work_seconds": 0}'] * 3, "delays_seconds": [0.0] * 3},
    )
    good, killed, hung = (worker(database, name) for name in ("good", "killed", "hung"))
    assert good.complete(claim_of(good))
    claim_of(killed)
    note(connection, "killed", "killed")
    hanging = claim_of(hung)
    note(connection, "hung", "hung", hanging)
    connection.execute(EXPIRE)
    connection.execute(REAP, {"cap": CAP})
    assert not hung.complete(hanging)
    for _ in range(2):
        assert good.complete(claim_of(good))
    return connection


def failed(connection: psycopg.Connection[Any], *, interrupted: bool = False) -> set[str]:
    summary = summary_of(connection, interrupted=interrupted)
    return {check.name for check in summary.checks if not check.holds}


def summary_of(connection: psycopg.Connection[Any], *, interrupted: bool = False) -> Summary:
    return Summary("18.0", 1.0, 1, agent=True, interrupted=interrupted, evidence=gather(connection))


def test_all_claims_hold_for_a_run_that_went_well(connection: psycopg.Connection[Any]) -> None:
    summary = summary_of(connection)
    assert failed(connection) == set()
    assert summary.holds
    document = summary.as_json()
    assert document["jobs"] == {"enqueued": 4, "done": 3, "dead": 1, "open": 0, "missing": 0}
    assert document["stranded"] == {"total": 5, "recovered": 5, "requeued": 4, "buried": 1}
    assert document["trouble"] == {"killed": 1, "hung": 1, "poisoned": 3}
    assert document["late_completions_refused"] == 1
    assert document["recovery_seconds"]["median"] >= 1


@pytest.mark.parametrize(
    ("spoil", "claims"),
    [
        ("DELETE FROM demo_queue_jobs WHERE id = %(poison)s", {"nothing_lost", "poison_buried"}),
        ("DELETE FROM demo_queue_jobs WHERE id = %(killed)s", {"nothing_lost", "no_double_completion"}),
        ("INSERT INTO demo_queue_jobs (payload) VALUES ('{}')", {"nothing_lost"}),
        (
            "UPDATE demo_queue_jobs SET status = 'pending' WHERE id = %(completed)s",
            {"nothing_lost", "no_double_completion"},
        ),
        (
            "INSERT INTO demo_record (event, job, version) VALUES ('completed', %(completed)s, 1)",
            {"no_double_completion"},
        ),
        (
            "INSERT INTO demo_record (event, job, version) VALUES ('claimed', %(completed)s, 1)",
            {"no_double_completion"},
        ),
        (
            "UPDATE demo_queue_jobs SET claim_version = claim_version + 1 WHERE id = %(completed)s",
            {"no_double_completion"},
        ),
        (
            "UPDATE demo_record SET version = 1 WHERE job = %(hung)s AND event = 'completed'",
            {"no_double_completion", "all_recovered"},
        ),
        ("DELETE FROM demo_record WHERE job = %(killed)s AND event = 'requeued'", {"all_recovered"}),
        ("DELETE FROM demo_record WHERE event = 'buried'", {"all_recovered"}),
        (
            "UPDATE demo_record SET lease_until = at + interval '1 ms' WHERE job = %(hung)s AND event = 'requeued'",
            {"not_too_early"},
        ),
        ("DELETE FROM demo_record WHERE event = 'refused'", {"late_completions_refused"}),
        ("UPDATE demo_queue_jobs SET attempts = attempts + 1 WHERE id = %(poison)s", {"poison_buried"}),
        (
            "INSERT INTO demo_record (event, job, version) SELECT unnest('{claimed,requeued}'::text[]), %(poison)s, 4",
            {"poison_buried"},
        ),
        ("DELETE FROM demo_record WHERE event = 'killed'", {"trouble_happened"}),
        ("DELETE FROM demo_record WHERE worker = 'hung' AND event = 'hung'", {"trouble_happened"}),
        ("DELETE FROM demo_record WHERE event = 'poisoned'", {"trouble_happened"}),
    ],
)
def test_a_spoiled_run_fails_just_the_claims_it_breaks(
    connection: psycopg.Connection[Any], spoil: str, claims: set[str]
) -> None:
    assert connection.execute(spoil.encode(), JOBS).rowcount > 0
    assert failed(connection) == claims
    assert not summary_of(connection).holds


def test_a_job_still_held_under_a_live_lease_is_not_stranded(
    connection: psycopg.Connection[Any], database: Database
) -> None:
    connection.execute(
        statement("enqueue"), {"payloads": ['{"poison": false, "work_seconds": 0}'], "delays_seconds": [0.0]}
    )
    claim_of(worker(database, "busy"))
    assert failed(connection) == {"nothing_lost"}
    connection.execute(EXPIRE)
    assert failed(connection) == {"nothing_lost", "all_recovered"}


def test_an_interrupted_run_holds_nothing_and_leaves_open_what_only_the_end_can_tell(
    connection: psycopg.Connection[Any],
) -> None:
    summary = summary_of(connection, interrupted=True)
    assert not summary.holds
    verdicts = {check["name"]: check["holds"] for check in summary.as_json()["checks"]}
    assert verdicts["nothing_lost"] is None
    assert verdicts["all_recovered"] is None
    assert verdicts["no_double_completion"] is True
