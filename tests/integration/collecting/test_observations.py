"""What the collection hands to the tasks of a real table: churn, vacuums, claims; and when it hands them nothing."""

from __future__ import annotations

from dataclasses import replace
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from pgq_ops.probes.registry import DATABASE_PROBES
from pgq_ops.stats.observing import Observing
from tests.support.agent import wait_until
from tests.support.collecting import Collection, collection_of
from tests.support.jobs import FIELD, create_field_table
from tests.support.table_health import COLUMNS, health, probe, told, vacuum, write

if TYPE_CHECKING:
    from pgq_ops.stats.observed import Observed
    from pgq_ops.stats.vacuum_runs import VacuumRuns
    from tests.support.database import Database

# Some rows a page, so that few are dead on less than 2 % of the pages.
WIDE = f"""
    CREATE TABLE jobs ({COLUMNS}, note text, PRIMARY KEY (id)) WITH (autovacuum_enabled = off);
    ALTER TABLE jobs ALTER note SET STORAGE PLAIN;
    CREATE INDEX jobs_pending ON jobs (run_at, id) WHERE status = 'pending';
    INSERT INTO jobs (id, status, run_at, note) SELECT i, 'pending', now(), repeat('x', 1500)
    FROM generate_series(1, 6000) AS i;
"""


def observed(seen: Collection) -> Observed | None:
    return seen.collector.observations.of("jobs")


@pytest.fixture
def seen(database: Database) -> Collection:
    create_field_table(database)
    database.execute("CREATE INDEX jobs_pending ON jobs (run_at, id) WHERE status = 'pending'")
    database.execute("INSERT INTO jobs (queue) SELECT 'a' FROM generate_series(1, 3000)")
    told(database, 3_000)
    vacuum(database)
    return collection_of(database, FIELD)


def test_each_collection_hands_over_what_it_has_seen(database: Database, seen: Collection) -> None:
    assert observed(seen) is None
    found = observed(seen.healthy())
    assert found is not None
    assert seen.last is not None
    assert found.health == seen.last.look.health
    assert found.horizon == seen.last.look.database.horizon is not None
    claim = seen.last.look.claim
    assert claim is not None
    assert found.claims == ((0, claim.buffers),)
    assert found.claim_seconds == claim.seconds
    write(database, "UPDATE jobs SET attempts = 1 WHERE id <= 700")
    told(database, 3_700)
    found = observed(seen.healthy())
    assert found is not None
    assert [dead for dead, _ in found.claims] == [0, 700]


def test_the_churn_is_that_of_the_server_s_counters(database: Database) -> None:
    database.execute(f"CREATE TABLE jobs ({COLUMNS}) WITH (autovacuum_enabled = off)")
    seen, observing = probe(database), Observing()
    write(database, "INSERT INTO jobs SELECT i, 'pending' FROM generate_series(1, 1000) AS i")
    told(database, 1_000)
    first = health(seen)
    assert observing.observed(first, None, None).churn == {}
    write(database, "INSERT INTO jobs SELECT i, 'pending' FROM generate_series(1001, 1100) AS i")
    write(database, "UPDATE jobs SET attempts = 1 WHERE id <= 600")
    write(database, "DELETE FROM jobs WHERE id > 800")
    told(database, 2_000)
    later = replace(health(seen), at=first.at + 100)
    [churn] = observing.observed(later, None, None).churn.values()
    assert (churn.seconds, churn.inserted, churn.updated, churn.deleted) == pytest.approx((100, 1, 6, 3))
    # Another collection without another look at the table tells the same.
    assert list(observing.observed(later, None, None).churn.values()) == [churn]


def test_what_vacuums_did_is_seen_and_whether_they_went_through_the_indexes(database: Database) -> None:
    database.execute(WIDE)
    seen, observing = probe(database), Observing()
    known = [0]

    def vacuumed(delete: str, options: str = "") -> VacuumRuns:
        """The runs after some rows were deleted and the table was vacuumed."""
        known[0] += database.execute(f"DELETE FROM jobs WHERE {delete}")
        told(database, 6_000 + known[0])
        observing.observed(health(seen), None, None)
        vacuum(database, f"VACUUM {options} jobs")
        [runs] = observing.observed(health(seen), None, None).runs.values()
        return runs

    told(database, 6_000)
    vacuum(database, "VACUUM ANALYZE jobs")
    observing.observed(health(seen), None, None)
    runs = vacuumed("id % 10 = 0")
    assert (runs.count, runs.removed_rows, runs.skipped_indexes) == (1, 600, False)
    runs = vacuumed("id BETWEEN 1001 AND 1040")
    assert (runs.count, runs.skipped_indexes) == (2, True)
    runs = vacuumed("id BETWEEN 1501 AND 1540", "(ANALYZE)")
    assert (runs.count, runs.skipped_indexes) == (3, True)
    runs = vacuumed("id BETWEEN 2001 AND 2040", "(INDEX_CLEANUP on)")
    assert (runs.count, runs.skipped_indexes) == (4, False)
    assert runs.interval_seconds is not None
    if database.server.major >= 18:
        assert runs.seconds is not None
        assert runs.seconds < 10
    else:
        assert runs.seconds is None


def test_a_vacuum_that_is_seen_past_the_indexes_is_known_not_to_skip_them(database: Database) -> None:
    database.execute(WIDE.replace("6000", "120"))
    told(database, 120)
    seen, observing = probe(database), Observing()
    observing.observed(health(seen), None, None)
    database.execute("DELETE FROM jobs WHERE id % 5 > 0")
    told(database, 216)
    # Some 30 pages, at each of which it sleeps, twice: while it looks for dead rows and while it removes them.
    slow = database.connect()
    slow.execute("SET vacuum_cost_delay = '10ms'; SET vacuum_cost_limit = 1")
    working = Thread(target=slow.execute, args=("VACUUM (INDEX_CLEANUP on, ANALYZE) jobs",))
    working.start()

    def is_past_the_indexes() -> bool:
        found = health(seen)
        observing.observed(found, None, None)
        [one] = found.leaves
        return one.progress is not None and one.progress.index_passes > 0 and one.progress.relation == one.oid

    wait_until(is_past_the_indexes, 20, "a vacuum is past the indexes")
    working.join()
    wait_until(lambda: observing.observed(health(seen), None, None).runs, 10, "the statistics know of its end")
    [runs] = observing.observed(health(seen), None, None).runs.values()
    assert (runs.count, runs.removed_rows, runs.skipped_indexes) == (1, 96, False)
    assert runs.seconds is not None
    assert 0 < runs.seconds < 30


def test_what_could_not_be_seen_is_not_handed_over_as_it_was(
    database: Database, seen: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert observed(seen.healthy()) is not None
    with monkeypatch.context() as patch:
        patch.setattr("pgq_ops.stats.table_health.read", lambda *_: 1 / 0)
        assert {failure.probe for failure in seen.collect().failures} == {"table"}
        assert observed(seen) is None
    assert observed(seen.healthy()) is not None
    seen.collector.unreachable("jobs")
    assert observed(seen) is None
    assert observed(seen.healthy()) is not None
    seen.collector.forget("jobs")
    assert observed(seen) is None
    assert observed(seen.healthy()) is not None
    database.server.execute(f'ALTER DATABASE "{database.name}" ALLOW_CONNECTIONS false')
    database.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'pgq-ops/probes'"
    )
    assert not seen.collect().reached
    assert observed(seen) is None


def test_what_was_watched_goes_on_after_a_look_that_failed(seen: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    before = observed(seen.healthy())
    with monkeypatch.context() as patch:
        patch.setattr("pgq_ops.stats.table_health.read", lambda *_: 1 / 0)
        seen.collect()
    after = observed(seen.healthy())
    assert before is not None
    assert after is not None
    assert len(before.claims) == 1
    assert len(after.claims) == 2


def test_without_a_look_at_the_claim_and_the_horizon_the_rest_is_handed_over(seen: Collection) -> None:
    seen.collector.probes = tuple(one for one in seen.collector.probes if one.name != "claim")
    seen.collector.database_probes = tuple(one for one in DATABASE_PROBES if one.name != "horizon")
    found = observed(seen.healthy())
    assert found is not None
    assert (found.claims, found.claim_seconds, found.horizon) == ((), None, None)
    assert len(found.health.leaves) == 1
