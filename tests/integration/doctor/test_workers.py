"""How the workers behave: isolation, transactions, failed jobs that loop, load, jobs that may have run twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.production import handled_failures, idempotency, no_idle_transaction, throughput, worker_isolation
from pgq_ops.schema import versions
from pgq_ops.stats import table_statements
from pgq_ops.stats.table_statements import Statement, TableStatements
from tests.support.agent import wait_until
from tests.support.article_tables import LEASE_CLAIM, LEASE_TABLE
from tests.support.binding import LEASE
from tests.support.doctor_points import doctor
from tests.support.jobs import FIELD, create_field_table, reap

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.database import Database
    from tests.support.roles import Roles

PENDING_INDEX = "CREATE INDEX ON jobs (run_at, id) WHERE status = 'pending'"
FINISHED_INDEX = "CREATE INDEX ON jobs (finished_at)"


@pytest.fixture
def jobs(database: Database) -> Database:
    create_field_table(database)
    return database


@pytest.mark.parametrize("level", ["repeatable read", "SERIALIZABLE"])
@pytest.mark.parametrize(
    ("setting", "source"),
    [
        ('ALTER ROLE "{role}" SET', "role"),
        ('ALTER DATABASE "{database}" SET', "database"),
        ('ALTER ROLE "{role}" IN DATABASE "{database}" SET', "role in database"),
    ],
)
def test_a_role_whose_sessions_begin_above_read_committed_is_found_and_the_remedy_helps(
    jobs: Database, make_role: Roles, setting: str, source: str, level: str
) -> None:
    role = make_role("worker")
    jobs.execute(f'GRANT SELECT, UPDATE (status) ON jobs TO "{role}"')
    jobs.execute(f"{setting.format(role=role, database=jobs.name)} default_transaction_isolation = '{level}'")
    found = doctor(jobs).finding(worker_isolation)
    assert found.severity == "warning"
    assert found.evidence["roles"][role] == f"{level} ({source})"
    assert jobs.connect(user=role).execute("SHOW transaction_isolation").fetchone() == (level.lower(),)
    for statement in found.remedy.splitlines():
        jobs.execute(statement)
    assert jobs.connect(user=role).execute("SHOW transaction_isolation").fetchone() == ("read committed",)
    assert role in doctor(jobs).passed(worker_isolation)


def test_roles_that_cannot_claim_or_begin_in_other_databases_do_not_count(
    jobs: Database, make_role: Roles, make_database: Callable[[], Database]
) -> None:
    worker, reader = make_role("worker"), make_role("reader")
    other = make_database()
    jobs.execute(f'GRANT SELECT, UPDATE ON jobs TO "{worker}"; GRANT SELECT ON jobs TO "{reader}"')
    jobs.execute(f"ALTER ROLE \"{reader}\" SET default_transaction_isolation = 'serializable'")
    jobs.execute(
        f'ALTER ROLE "{worker}" IN DATABASE "{other.name}" SET default_transaction_isolation = \'serializable\''
    )
    text = doctor(jobs).passed(worker_isolation)
    assert worker in text
    assert reader not in text


def test_a_worker_that_keeps_its_claim_s_transaction_open_is_named(database: Database) -> None:
    database.execute(LEASE_TABLE)
    database.execute("INSERT INTO demo_queue_jobs (payload) VALUES ('{}'), ('{}')")
    assert "no session" in doctor(database, LEASE).passed(no_idle_transaction)
    worker = database.connect(autocommit=False, application_name="mail-1")
    worker.execute(LEASE_CLAIM.encode(), {"worker": "mail-1", "lease_seconds": 60})
    idle = "SELECT now() - state_change > interval '1 second' FROM pg_stat_activity WHERE pid = %s AND state LIKE 'idle in%%'"
    wait_until(lambda: database.rows(idle, [worker.info.backend_pid]) == [(True,)], 10, "a second of idleness")
    found = doctor(database, LEASE).finding(no_idle_transaction)
    [session] = found.evidence["sessions"]
    assert (session["pid"], session["application_name"]) == (worker.info.backend_pid, "mail-1")
    assert f"pid {worker.info.backend_pid}, mail-1, user postgres" in found.summary
    [(pid, *_, query)] = database.rows(found.remedy)
    assert pid == worker.info.backend_pid
    assert "SKIP LOCKED" in query
    worker.rollback()
    assert doctor(database, LEASE).passed(no_idle_transaction)


def test_a_transaction_that_only_read_or_works_elsewhere_is_not_taken_for_work_on_a_job(jobs: Database) -> None:
    jobs.execute("CREATE TABLE other (id int); INSERT INTO other VALUES (1)")
    for statement in (b"SELECT * FROM jobs", b"UPDATE other SET id = 2"):
        session = jobs.connect(autocommit=False)
        session.execute(statement)
    idle = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%' AND now() - state_change > interval '1 s'"
    wait_until(lambda: jobs.value(idle) == 2, 10, "a second of idleness")
    assert doctor(jobs).passed(no_idle_transaction)


def test_a_role_that_cannot_see_other_sessions_says_so(jobs: Database, make_role: Roles) -> None:
    blind = make_role("blind")
    jobs.execute(f'GRANT SELECT ON jobs TO "{blind}"')
    verdict = doctor(jobs, role=blind).verdict(no_idle_transaction)
    assert (verdict.outcome, verdict.remedy) == ("unknown", f'GRANT pg_monitor TO "{blind}";')


@pytest.mark.parametrize(
    ("job", "capped", "hurried"),
    [
        ((4, None, "now() + interval '1 h'"), 0, 0),
        ((5, None, "now() + interval '1 h'"), 1, 0),
        ((2, 3, "now() + interval '1 h'"), 0, 0),
        ((3, 3, "now() + interval '1 h'"), 1, 0),
        ((2, None, "now()"), 0, 0),
        ((3, None, "now()"), 0, 1),
        ((3, None, "now() + interval '2 s'"), 0, 0),
        ((3, None, "'-infinity'"), 0, 0),
        ((None, None, "now()"), 0, 0),
        ((32767, None, "now()"), 1, 1),
    ],
)
def test_jobs_that_are_handed_back_without_end_or_without_a_pause(
    jobs: Database, job: tuple[int | None, int | None, str], capped: int, hurried: int
) -> None:
    attempts, max_attempts, run_at = job
    jobs.execute(PENDING_INDEX)
    jobs.execute("INSERT INTO jobs (status, attempts) VALUES ('running', 9), ('done', 9), ('pending', 0)")
    jobs.execute(
        f"INSERT INTO jobs (attempts, max_attempts, run_at, created_at) VALUES (%s, %s, {run_at}, now())",
        [attempts, max_attempts],
    )
    one = doctor(jobs)
    if not (capped or hurried):
        assert one.passed(handled_failures) == "of 2 pending jobs none is beyond its cap or tried in a loop"
        return
    found = one.finding(handled_failures)
    assert found.evidence == {"pending": 2, "capped": capped, "hurried": hurried}
    assert ("without end" in found.summary, "without a pause" in found.summary) == (bool(capped), bool(hurried))
    assert [row[2] for row in jobs.rows(found.remedy)] == [attempts]


def test_the_cap_is_that_of_the_job_s_own_queue(jobs: Database) -> None:
    jobs.execute(PENDING_INDEX)
    jobs.execute(
        "INSERT INTO jobs (queue, attempts, run_at) SELECT q, 7, now() + interval '1 h' FROM unnest(ARRAY['a', 'long']) AS q"
    )
    toml = f"{FIELD}[job_tables.jobs.queues.long]\nreaper.max_attempts = 10\n"
    assert doctor(jobs, toml).finding(handled_failures).evidence["capped"] == 1


def test_without_attempts_nothing_is_said_of_loops(jobs: Database) -> None:
    toml = FIELD.replace('attempts = "attempts"\n', "", 1)
    assert "attempts are not mapped" in doctor(jobs, toml).not_applicable(handled_failures)


@pytest.mark.parametrize(("finished", "found"), [(19_000, False), (21_000, True)])
def test_half_of_what_one_table_bears_is_told_by_the_jobs_that_finished_last(
    jobs: Database,
    finished: int,
    found: bool,  # noqa: FBT001
) -> None:
    jobs.execute(FINISHED_INDEX)
    jobs.execute(
        "INSERT INTO jobs (status, finished_at) SELECT 'done', now() - interval '5 s' FROM generate_series(1, %s)",
        [finished],
    )
    one = doctor(jobs)
    if found:
        finding = one.finding(throughput)
        assert finding.evidence["jobs_per_second"] == 1_050
        assert "message broker" in finding.remedy
    else:
        assert one.passed(throughput) == "950.0 jobs a second finished in the last seconds"


@pytest.mark.parametrize(
    ("seconds", "rows", "outcome"), [(50, 100_000, "unknown"), (100, 99_000, "passed"), (100, 101_000, "finding")]
)
def test_else_it_is_told_by_the_claims_that_were_counted(
    jobs: Database, seconds: float, rows: int, outcome: str
) -> None:
    claim = Statement("UPDATE jobs SET ... (SELECT ... FOR UPDATE SKIP LOCKED)", 200_000, rows, toplevel=True, role="w")
    one = doctor(jobs)
    one.examination._facts[table_statements.read] = TableStatements((claim,), seconds)
    assert one.verdict(throughput).outcome == outcome


def test_where_neither_is_known_the_load_is_not_called_fit(jobs: Database) -> None:
    text = doctor(jobs).unknown(throughput)
    assert "no index leads to the jobs that finished last" in text
    assert "pg_stat_statements" in text


def test_jobs_that_were_requeued_may_have_run_twice(jobs: Database) -> None:
    assert doctor(jobs).verdict(idempotency).remedy == "pgq-ops install"
    versions.install(jobs.connect())
    assert doctor(jobs).passed(idempotency) == "none was requeued in 24 h"
    jobs.execute("""
        INSERT INTO jobs (status, attempts, lease_until) SELECT 'running', a, now() - interval '1 m' FROM unnest(ARRAY[1, 2, 5]) AS a;
    """)
    assert reap(jobs).requeued == 2
    jobs.execute("INSERT INTO pgq_ops.reap_log (table_oid, job, outcome) VALUES (1, '9', 'requeued')")
    found = doctor(jobs).finding(idempotency)
    assert found.evidence == {"requeued": 2, "at_least": False}
    assert found.severity == "info"
    assert len(jobs.rows(found.remedy)) == 2
    jobs.execute("UPDATE pgq_ops.reap_log SET at = at - interval '25 h'")
    assert doctor(jobs).passed(idempotency)


def test_a_log_that_may_not_be_read_is_told_with_the_way_to_get_it(jobs: Database, make_role: Roles) -> None:
    versions.install(jobs.connect())
    reader = make_role("reader")
    jobs.execute(f'GRANT SELECT ON jobs TO "{reader}"')
    verdict = doctor(jobs, role=reader).verdict(idempotency)
    assert verdict.outcome == "unknown"
    assert "permission denied for schema pgq_ops" in verdict.text
    assert verdict.remedy == f"pgq-ops grants {reader} --tier observe --sql"
