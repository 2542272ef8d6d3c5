"""How the workers behave: isolation, transactions, failed jobs that loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.production import handled_failures, no_idle_transaction, worker_isolation
from tests.support.agent import wait_until
from tests.support.article_tables import LEASE_CLAIM, LEASE_TABLE
from tests.support.binding import LEASE
from tests.support.doctor_points import doctor
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.database import Database
    from tests.support.roles import Roles

PENDING_INDEX = "CREATE INDEX ON jobs (run_at, id) WHERE status = 'pending'"


@pytest.fixture
def jobs(database: Database) -> Database:
    create_field_table(database)
    return database


@pytest.mark.parametrize(
    ("setting", "source", "level"),
    [
        ('ALTER ROLE "{role}" SET', "role", "repeatable read"),
        ('ALTER DATABASE "{database}" SET', "database", "SERIALIZABLE"),
        ('ALTER ROLE "{role}" IN DATABASE "{database}" SET', "role in database", "serializable"),
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
    assert doctor(jobs).unknown(worker_isolation) == "the extension pg_stat_statements is not here"


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
    jobs.execute("CREATE EXTENSION pg_stat_statements")
    text = doctor(jobs).passed(worker_isolation)
    assert worker in text
    assert reader not in text


@pytest.fixture
def _sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second of idleness counts, so that no test waits for five."""
    monkeypatch.setattr(no_idle_transaction, "_WORK_SECONDS", 1.0)


@pytest.mark.usefixtures("_sooner")
def test_a_worker_that_keeps_its_claim_s_transaction_open_is_named(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    monkeypatch.setattr(no_idle_transaction, "_WORK_SECONDS", 60.0)
    assert doctor(database, LEASE).passed(no_idle_transaction)


@pytest.mark.usefixtures("_sooner")
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


def test_a_cap_that_nobody_set_is_none(jobs: Database) -> None:
    jobs.execute(PENDING_INDEX)
    jobs.execute("INSERT INTO jobs (attempts, run_at) VALUES (9, now() + interval '1 h')")
    watched = FIELD.partition("[job_tables.jobs.reaper]")[0].replace('max_attempts = "max_attempts"\n', "")
    assert doctor(jobs, watched).passed(handled_failures)
    asked = f"{watched}[job_tables.jobs.reaper]\n"
    assert doctor(jobs, asked).finding(handled_failures).evidence["capped"] == 1


def test_without_attempts_nothing_is_said_of_loops(jobs: Database) -> None:
    toml = FIELD.replace('attempts = "attempts"\n', "", 1)
    assert "attempts are not mapped" in doctor(jobs, toml).not_applicable(handled_failures)
