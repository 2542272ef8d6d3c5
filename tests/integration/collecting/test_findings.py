"""What is wrong, by looks at real tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.look import ReapNews
from tests.support.collecting import collection_of
from tests.support.doctor_points import counted
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database

EXPIRED = "INSERT INTO jobs (queue, status, lease_until) VALUES ('a', 'running', now() - make_interval(secs => %s))"


def test_a_healthy_table_has_no_findings(database: Database) -> None:
    create_field_table(database)
    database.execute("CREATE INDEX ON jobs (run_at, id) WHERE status = 'pending'")
    filled = """
        INSERT INTO jobs (queue, status, run_at, lease_until) VALUES ('a', 'pending', now(), NULL),
            ('a', 'running', now(), now() + interval '1 m'), ('a', 'done', now(), NULL), ('a', 'dead', now(), NULL)
    """
    counted(database, filled, "SELECT pg_stat_get_tuples_inserted('jobs'::regclass) = 4")
    seen = collection_of(database)
    assert seen.collect(reaping=True).findings == ()
    assert seen.values("findings") == {}


@pytest.mark.parametrize(("seconds", "found"), [(85, False), (95, True)])
def test_an_agent_has_its_settle_time_and_three_passes_before_an_expired_lease_is_a_finding(
    database: Database,
    seconds: int,
    found: bool,  # noqa: FBT001
) -> None:
    create_field_table(database)
    database.execute(EXPIRED, [seconds])
    seen = collection_of(database)
    seen.collect(reaping=True)
    assert ("expired-leases" in seen.finding_ids()) is found


def test_where_nobody_reaps_an_expired_lease_is_critical_at_once_and_the_remedy_says_how_to_begin(
    database: Database,
) -> None:
    create_field_table(database)
    database.execute(EXPIRED, [1])
    seen = collection_of(database)
    seen.collect(reaping=False)
    finding = seen.finding("not-reaped")
    assert finding.severity == "critical"
    assert finding.remedy.splitlines()[0] == "pgq-ops reap jobs"
    assert 'mode = "manage"' in finding.remedy.splitlines()
    assert "[job_tables.jobs.reaper]" in finding.remedy.splitlines()
    assert seen.value("findings", "not-reaped", "critical") == 1


@pytest.mark.parametrize(
    ("jobs", "says"),
    [
        (1, ["1 job of public.jobs held by a worker that is gone", "no agent takes it back", "leaves it alone"]),
        (2, ["2 jobs of public.jobs held by workers that are gone", "takes them back", "leaves them alone"]),
    ],
)
def test_one_job_is_told_of_as_one(database: Database, jobs: int, says: list[str]) -> None:
    create_field_table(database)
    for _ in range(jobs):
        database.execute(EXPIRED, [60])
        database.execute(EXPIRED, [90_000])
        database.execute(EXPIRED, [None])
    seen = collection_of(database)
    seen.collect(reaping=False)
    told = "; ".join(finding.summary for finding in seen.collect(reaping=False).findings)
    assert [part for part in (*says, f"nothing takes {'it' if jobs == 1 else 'them'} back") if part not in told] == []


@pytest.mark.parametrize(("waited", "found"), [(115, False), (125, True)])
def test_a_job_that_waits_longer_than_was_promised_is_critical(
    database: Database,
    waited: int,
    found: bool,  # noqa: FBT001
) -> None:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (queue, status, run_at) VALUES ('a', 'pending', now() - make_interval(secs => %(s)s)),"
        " ('slow', 'pending', now() - make_interval(secs => %(s)s))",
        {"s": waited},
    )
    toml = (
        FIELD + '[job_tables.jobs.slo]\noldest_ready = "2m"\n[job_tables.jobs.queues.slow]\nslo.oldest_ready = "1h"\n'
    )
    seen = collection_of(database, toml).healthy()
    assert ("oldest-ready-slo" in seen.finding_ids()) is found
    if found:
        finding = seen.finding("oldest-ready-slo")
        assert finding.severity == "critical"
        assert set(finding.evidence["oldest_ready_seconds"]) == {"a"}
        assert len(database.rows(finding.remedy)) == 2


def test_what_the_last_pass_met_is_told(database: Database) -> None:
    create_field_table(database)
    seen = collection_of(database)
    seen.collect(reaping=True, news=ReapNews(mass_expired=500, conflicts=3, swallowed=1, example="23505: twin"))
    assert seen.finding("mass-expiry").evidence == {"expired": 500}
    assert seen.finding("reap-conflicts").evidence == {"conflicts": 2, "example": "23505: twin"}
    assert database.rows(seen.finding("reap-conflicts").remedy) == []
    assert seen.finding("reaper-swallowed").evidence == {"swallowed": 1}
    assert database.rows(seen.finding("reaper-swallowed").remedy) == []
    seen.collect(reaping=True, news=ReapNews())
    assert seen.finding_ids().isdisjoint({"mass-expiry", "reap-conflicts", "reaper-swallowed"})


def test_the_worst_comes_first(database: Database) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (queue, status, run_at) VALUES ('a', 'paused', now()), ('a', 'running', now())")
    database.execute(EXPIRED, [7_200])
    seen = collection_of(database)
    severities = [str(finding.severity) for finding in seen.collect(reaping=False).findings]
    assert set(severities) == {"critical", "warning", "info"}
    assert severities == sorted(severities, key=["critical", "warning", "info"].index)


@pytest.mark.parametrize(("seconds", "found"), [(28, False), (35, True)])
def test_where_nobody_knows_of_an_agent_an_expired_lease_is_a_finding_after_three_passes(
    database: Database,
    seconds: int,
    found: bool,  # noqa: FBT001
) -> None:
    create_field_table(database)
    database.execute(EXPIRED, [seconds])
    seen = collection_of(database).healthy()
    assert ("expired-leases" in seen.finding_ids()) is found


def test_the_remedy_of_a_late_queue_shows_first_the_job_that_waited_longest(database: Database) -> None:
    create_field_table(database)
    database.execute("""
        INSERT INTO jobs (queue, status, run_at, created_at) SELECT 'a', 'pending', now() - make_interval(mins => 10), now()
        FROM generate_series(1, 150);
        INSERT INTO jobs (id, queue, status, run_at) VALUES (900, 'a', 'pending', now() - interval '1 d');
        INSERT INTO jobs (id, queue, status, run_at, created_at) VALUES (901, 'a', 'pending', NULL, now() - interval '2 d');
        INSERT INTO jobs (id, queue, status, run_at, created_at)
        VALUES (902, 'a', 'pending', '-infinity', '-infinity')
    """)
    remedy = collection_of(database).healthy().finding("oldest-ready-slo").remedy
    rows = database.rows(remedy)
    assert [row[0] for row in rows[:2]] == [901, 900]
    assert len(rows) == 100


@pytest.mark.parametrize(
    "toml",
    [
        FIELD,
        FIELD.replace('lease_expires_at = "lease_until"', 'heartbeat_at = "lease_until"')
        + '[job_tables.jobs.lease]\ntimeout = "5m"\n',
    ],
    ids=["explicit", "heartbeat"],
)
def test_the_remedy_of_stale_leases_lists_them_oldest_first_before_the_commands(database: Database, toml: str) -> None:
    create_field_table(database)
    database.execute("""
        INSERT INTO jobs (id, status, lease_until, locked_by) VALUES (1, 'running', now() - interval '3 d', '100%'),
            (2, 'running', now() - interval '5 d', 'b'), (3, 'running', now() - interval '1 h', 'c'),
            (4, 'pending', now() - interval '5 d', 'd')
    """)
    lines = collection_of(database, toml).healthy().finding("stale-leases").remedy.splitlines()
    commands = [line for line in lines if line.startswith("pgq-ops")]
    assert lines[-2:] == commands
    [query] = [line for line in lines if line.startswith("SELECT")]
    rows = database.rows(query)
    assert [row[:2] for row in rows] == [(2, "b"), (1, "100%")]
    assert all((row[2] is not None) for row in rows)
    assert rows[0][2] < rows[1][2]


def test_states_that_nothing_is_mapped_to_are_named_the_most_frequent_first(database: Database) -> None:
    create_field_table(database)
    database.execute("""
        ALTER TABLE jobs ALTER status DROP NOT NULL;
        INSERT INTO jobs (status) VALUES ('paused'), ('paused'), ('paused'), ('100%'), ('100%'), (NULL), ('done')
    """)
    finding = collection_of(database).healthy().finding("unknown-states")
    assert finding.evidence["values"] == ["paused", "100%", None]
    for part in ("6 jobs", "'paused', '100%', NULL"):
        assert part in finding.summary


def test_of_many_unmapped_states_ten_are_named(database: Database) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (status) SELECT 's' || i FROM generate_series(1, 11) AS i")
    finding = collection_of(database).healthy().finding("unknown-states")
    assert len(finding.evidence["values"]) == 10
    assert finding.summary.count("'s") == 10
    assert "..." in finding.summary


def test_jobs_that_no_predicate_of_a_state_takes_are_told_without_values(database: Database) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (status) VALUES ('paused')")
    toml = FIELD.replace('state = "status"\n', "")
    for state in ("pending", "running", "done", "dead"):
        toml = toml.replace(f'["{state}"]', f"{{ where = \"status = '{state}'\", set = {{ status = \"'{state}'\" }} }}")
    finding = collection_of(database, toml).healthy().finding("unknown-states")
    assert finding.evidence["values"] == []
    assert len(database.rows(finding.remedy)) == 1


def test_the_remedy_of_a_late_queue_is_ordered_as_the_claim_s_index_is(database: Database) -> None:
    create_field_table(database)
    database.execute("""
        ALTER TABLE jobs ALTER run_at SET NOT NULL; CREATE INDEX claim ON jobs (run_at) WHERE status = 'pending';
        INSERT INTO jobs (queue, status, run_at) SELECT 'a', 'pending', now() - make_interval(secs => 400 + i)
        FROM generate_series(1, 5000) AS i;
        ANALYZE jobs
    """)
    remedy = collection_of(database).healthy().finding("oldest-ready-slo").remedy
    assert [row[0] for row in database.rows(remedy)[:2]] == [5000, 4999]
    plan = " ".join(line for (line,) in database.rows(f"EXPLAIN {remedy}"))
    assert "claim" in plan
    assert "Sort" not in plan
