"""The horizon as the agent collects it: metrics, findings, and what a role sees that lacks pg_monitor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.collecting import collection_of
from tests.support.database import unique
from tests.support.jobs import FIELD, create_field_table
from tests.support.sessions import waiting
from tests.support.vacuuming import begun

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.collecting import Collection
    from tests.support.database import Database
    from tests.support.roles import Roles

KINDS = {("backend",), ("prepared",), ("slot",), ("standby",)}
SLEEPS = "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = %s"
WROTE = "INSERT INTO jobs DEFAULT VALUES"


@pytest.fixture
def jobs(database: Database) -> Database:
    create_field_table(database)
    database.execute("CREATE UNLOGGED TABLE used (n int)")
    return database


def use_xids(database: Database, number: int) -> None:
    """Use up transaction ids, each by a subtransaction that writes."""
    database.execute(f"""
        DO $$ BEGIN FOR i IN 1..{number} LOOP
            BEGIN INSERT INTO used VALUES (i); EXCEPTION WHEN division_by_zero THEN NULL; END;
        END LOOP; END $$
    """)


def held_by(seen: Collection) -> list[str]:
    return [one["name"] for one in seen.finding("horizon-held").evidence["holders"]]


def test_where_nobody_holds_it_back_all_is_nought_and_nothing_is_absent(jobs: Database) -> None:
    seen = collection_of(jobs).healthy()
    assert seen.value("horizon_age_xids") == 0
    assert seen.value("catalog_xmin_age_xids") == 0
    assert seen.value("session_visibility") == 1
    assert seen.values("horizon_holders") == dict.fromkeys(KINDS, 0)
    assert seen.values("horizon_holder_seconds") == dict.fromkeys(KINDS, 0)
    assert seen.finding_ids().isdisjoint({"horizon-held", "visibility-limited"})


def test_holders_are_counted_by_kind_with_the_oldest_one_s_seconds(jobs: Database) -> None:
    jobs.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [unique("logical")])
    use_xids(jobs, 20)
    begun(jobs, "first", WROTE)
    jobs.execute("SELECT pg_sleep(0.2)")
    begun(jobs, "second", WROTE)
    begun(jobs, "prepared", WROTE).execute("PREPARE TRANSACTION 'horizon collected'")
    use_xids(jobs, 50)
    seen = collection_of(jobs).healthy()
    assert seen.values("horizon_holders") == dict.fromkeys(KINDS, 0) | {("backend",): 2, ("prepared",): 1}
    seconds = seen.values("horizon_holder_seconds")
    assert seconds["backend",] > seconds["prepared",] + 0.2 > 0.2
    assert seconds["slot",] == seconds["standby",] == 0
    age, catalog_age = seen.value("horizon_age_xids"), seen.value("catalog_xmin_age_xids")
    assert age is not None
    assert catalog_age is not None
    assert 53 <= age <= catalog_age - 20


def test_a_session_that_holds_too_long_is_named_until_its_remedy_was_run(jobs: Database, make_role: Roles) -> None:
    bi = make_role("bi", "LOGIN", member_of=("pg_read_all_data",))
    session = jobs.connect(user=bi, application_name="report-job", autocommit=False)
    session.execute("DECLARE c CURSOR FOR SELECT FROM jobs")
    use_xids(jobs, 999)
    seen = collection_of(jobs)
    seen.collector.warn_after_seconds = 0.0
    # With that of the statement itself.
    assert seen.healthy().value("horizon_age_xids") == 1_000
    finding = seen.finding("horizon-held")
    pid = session.info.backend_pid
    assert (
        f"last 1,000 transactions, because session {pid} (report-job, user {bi}) has been idle in trans"
        in finding.summary
    )
    [told] = finding.evidence["holders"]
    assert finding.remedy == f"pgq-ops transactions end --yes {told['session']}"
    assert str(told["session"]).startswith(f"{pid}@")
    seen.collector.warn_after_seconds = 60.0
    seen.healthy()
    assert "horizon-held" not in seen.finding_ids(), "it has only just begun"
    seen.collector.warn_after_seconds = 0.0
    jobs.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    assert seen.healthy().value("horizon_age_xids") == 0
    assert "horizon-held" not in seen.finding_ids()


def test_who_writes_in_another_database_is_named_by_two_looks_in_a_row_and_then_stays_named(
    jobs: Database, make_database: Callable[[], Database]
) -> None:
    """The metric tells each moment as it is; the finding does not come and go with the statements here."""
    other = make_database()
    begun(other, "elsewhere", "CREATE TABLE writing ()")
    use_xids(jobs, 1_500)
    seen = collection_of(jobs)
    seen.collector.warn_after_seconds = 0.0

    def named(*, working: bool) -> list[str]:
        worker = waiting(jobs, "worker", "SELECT pg_sleep(60)", until=SLEEPS) if working else None
        seen.clock.seconds -= 595
        age = seen.healthy().value("horizon_age_xids") or 0
        assert (age > 1_500) is working
        if worker is not None:
            worker.cancel()
            worker.pgconn.get_result()
            worker.close()
        return held_by(seen) if "horizon-held" in seen.finding_ids() else []

    assert [named(working=working) for working in (True, False, True, False)] == [[]] * 4
    assert [named(working=True), named(working=True)] == [[], ["elsewhere"]]
    assert [named(working=working) for working in (False, False, True)] == [["elsewhere"]] * 3


@pytest.mark.case("V9")
def test_readers_that_overlap_are_told_by_the_horizon_s_age_though_none_reads_for_long(jobs: Database) -> None:
    first = begun(jobs, "reader 1", "SELECT FROM jobs", repeatable=True)
    use_xids(jobs, 60_000)
    begun(jobs, "reader 2", "SELECT FROM jobs", repeatable=True)
    seen = collection_of(jobs).healthy()
    assert "horizon-held" not in seen.finding_ids()
    use_xids(jobs, 60_000)
    begun(jobs, "reader 3", "SELECT FROM jobs", repeatable=True)
    assert (seen.healthy().value("horizon_age_xids") or 0) > 120_000
    assert held_by(seen) == ["reader 1", "reader 2"]
    assert "short transactions overlap" in seen.finding("horizon-held").summary
    assert {row[2] for row in jobs.rows(seen.finding("horizon-held").remedy)} == {"reader 1", "reader 2", "reader 3"}
    first.close()
    begun(jobs, "reader 4", "SELECT FROM jobs", repeatable=True)
    assert 60_000 < (seen.healthy().value("horizon_age_xids") or 0) < 100_000, "the first is gone, and still it is old"
    assert "horizon-held" not in seen.finding_ids()


@pytest.mark.case("V8")
def test_without_pg_monitor_the_age_is_known_and_the_rest_absent_with_the_grant_to_run(
    jobs: Database, make_role: Roles
) -> None:
    role = make_role("plain")
    jobs.execute(f'GRANT SELECT ON jobs TO "{role}"')
    session = begun(jobs, "report-job", WROTE)
    use_xids(jobs, 1_500)
    seen = collection_of(jobs, FIELD, role=role)
    seen.collector.warn_after_seconds = 0.0
    seen.healthy()
    assert (seen.value("horizon_age_xids") or 0) > 1_500
    assert seen.value("session_visibility") == 0
    assert seen.values("horizon_holders") == dict.fromkeys(KINDS, 0) | {("backend",): 1}
    assert seen.value("horizon_holder_seconds", "backend") is None, "absent, never 0"
    horizon = seen.last.look.database.horizon if seen.last else None
    assert horizon is not None
    [holder] = horizon.holders
    assert (holder.pid, holder.name, holder.seconds) == (session.info.backend_pid, "report-job", None)
    assert "horizon-held" not in seen.finding_ids(), "how long it has held is not known, and it is not yet much"
    use_xids(jobs, 100_000)
    seen.healthy()
    assert f"because session {holder.pid} (report-job, user postgres) has had" in seen.finding("horizon-held").summary
    finding = seen.finding("visibility-limited")
    assert finding.remedy == f'GRANT pg_monitor TO "{role}";'
    jobs.execute(finding.remedy)
    seen.healthy()
    assert seen.value("session_visibility") == 1
    assert (seen.value("horizon_holder_seconds", "backend") or 0) > 0
    assert "visibility-limited" not in seen.finding_ids()
    assert "has been idle in transaction for" in seen.finding("horizon-held").summary


def test_the_look_waits_for_no_lock_on_the_job_table(jobs: Database) -> None:
    begun(jobs, "locker", "LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE", WROTE)
    seen = collection_of(jobs)
    failed = {failure.probe for failure in seen.collect().failures}
    assert "jobs" in failed
    assert "horizon" not in failed
    assert seen.value("horizon_holders", "backend") == 1
