"""What finding the next job costs, on tables of every shape, with dead rows in the way, without time, and behind a lock."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from psycopg import errors

from pgq_ops.checks import claim_timeout
from pgq_ops.db.connection import PROBE_LIMITS, Limits
from pgq_ops.stats import claim_cost
from pgq_ops.stats.horizon import Holder, Horizon
from tests.support.binding import bind_toml
from tests.support.collecting import collection_of
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from pgq_ops.stats.claim_cost import ClaimCost, ClaimPlan
    from tests.support.database import Database
    from tests.support.roles import Roles

INDEX = "CREATE INDEX claim ON jobs (run_at, id) WHERE status = 'pending'"
# Seconds apart, so that an index by time is one by job.
READY = "INSERT INTO jobs (status, run_at) SELECT %s, now() - make_interval(secs => i) FROM generate_series(1, %s) AS i"
CLAIM = "UPDATE jobs SET status = 'done' WHERE id = (SELECT id FROM jobs WHERE status = 'pending' ORDER BY run_at, id LIMIT 1)"

HEAD = '[job_tables.jobs]\ntable = "jobs"\n'
STATES = '[job_tables.jobs.states]\npending = ["pending"]\nrunning = ["running"]\ndone = ["done"]\ndead = ["dead"]\n'
COLUMNS = '[job_tables.jobs.columns]\nid = "id"\nstate = "status"\navailable_at = "run_at"\n'


def _claim(database: Database, toml: str = FIELD, **options: Any) -> ClaimCost:
    bound = bind_toml(database, toml, read_only=True, **options)
    cost = claim_cost.read(bound.connection, bound.table)
    assert cost is not None
    return cost


def _plan(database: Database, toml: str = FIELD) -> ClaimPlan:
    plan = _claim(database, toml).plan
    assert plan is not None
    return plan


def _filled(database: Database, index: str = INDEX) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs SET (autovacuum_enabled = off)")
    database.execute(index)
    database.execute(READY, ["done", 20_000])
    database.execute(READY, ["pending", 2_000])
    database.execute("VACUUM ANALYZE jobs")


def test_a_claim_by_its_index_reads_one_row_and_a_handful_of_pages(database: Database) -> None:
    _filled(database)
    cost = _claim(database)
    assert cost.buffers is not None
    assert 2 <= cost.buffers <= 5
    assert cost.seconds is not None
    assert 0 < cost.seconds < 1
    assert cost.plan == claim_cost.ClaimPlan(
        "Index Scan using claim", ("claim",), rows_read=1, rows_returned=1, scans=(("jobs", "claim"),)
    )


def test_the_job_s_row_is_read_also_where_an_index_alone_would_tell_which_it_is(database: Database) -> None:
    _filled(database, "CREATE INDEX claim ON jobs (status, run_at, id)")
    explained = database.rows(
        "EXPLAIN SELECT id FROM jobs WHERE status = 'pending' AND run_at <= now() ORDER BY run_at, id LIMIT 1"
    )
    assert "Index Only Scan" in str(explained)
    bound = bind_toml(database, FIELD, limits=PROBE_LIMITS)
    before = bound.connection.execute("SHOW enable_indexonlyscan").fetchall()
    toml = FIELD.replace(
        "[job_tables.jobs.states]", '[job_tables.jobs.claim]\norder = ["run_at", "id"]\n[job_tables.jobs.states]'
    )
    assert _plan(database, toml).node == "Index Scan using claim"
    cost = claim_cost.read(bound.connection, bound.table)
    assert cost is not None
    assert bound.connection.execute("SHOW enable_indexonlyscan").fetchall() == before


def test_dead_rows_that_a_snapshot_keeps_make_claims_dear_until_it_ends_and_vacuum_has_run(database: Database) -> None:
    _filled(database)
    healthy = _claim(database).buffers
    holder = database.connect(autocommit=False)
    holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    holder.execute("SELECT 1 FROM jobs LIMIT 1")
    # Jobs as they come and go: the dead entries lie before the ones that wait.
    for _ in range(2):
        database.execute(READY, ["pending", 2_500])
        database.execute("UPDATE jobs SET status = 'done', run_at = run_at WHERE status = 'pending' AND id > 22000")
    database.execute("VACUUM jobs")
    seen = collection_of(database).healthy()
    churned = seen.value("claim_buffers")
    assert healthy is not None
    assert churned is not None
    assert churned > 100 * healthy
    holder.rollback()
    database.execute("VACUUM (INDEX_CLEANUP ON) jobs")
    after = seen.healthy().value("claim_buffers")
    assert after is not None
    assert after <= healthy + 2
    assert seen.value("claim_probe_seconds") is not None


def test_without_an_index_all_is_read_and_sorted(database: Database) -> None:
    create_field_table(database)
    database.execute(READY, ["done", 3_000])
    database.execute(READY, ["pending", 10])
    database.execute("ANALYZE jobs")
    plan = _plan(database)
    assert (plan.node, plan.sorts, plan.scans_table, plan.rows_read, plan.rows_returned) == (
        "Sort of Seq Scan", True, True, 3_010, 1,
    )  # fmt: skip


def test_a_claim_that_takes_too_long_is_critical_and_no_number(database: Database) -> None:
    create_field_table(database)
    database.execute(INDEX)
    database.execute(READY, ["pending", 1_000])
    database.execute("VACUUM ANALYZE jobs")
    # A claim's condition that takes 10 ms for each of many rows that it leaves out.
    database.execute("""
        CREATE FUNCTION slow(bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS
            $$ BEGIN PERFORM pg_sleep(0.01); RETURN false; END $$
    """)
    seen = collection_of(database, limits=PROBE_LIMITS).healthy()
    assert seen.value("claim_buffers") is not None
    rule = replace(seen.table.states["pending"], where="j.status = 'pending' AND slow(j.id)")
    fields = dict(seen.table.fields)
    seen.table = replace(seen.table, states={**seen.table.states, "pending": rule}, fields=fields)
    seen.collect()
    assert seen.value("claim_buffers") is None
    assert seen.value("claim_probe_seconds") is None
    assert seen.value("ready_locked") is None
    assert seen.value("probe_success", "claim") == 1
    finding = seen.finding("claim-timeout")
    assert finding.severity == "critical"
    assert finding.evidence["timeout_seconds"] == 0.1
    assert finding.evidence["plan"] == "Index Scan using claim"
    assert finding.evidence["healthy"]["plan"] == "Index Scan using claim"
    for part in ("longer than 0.1s (Index Scan using claim)", "at best it read"):
        assert part in finding.summary
    vacuum = [line for line in finding.remedy.splitlines() if line.startswith(("VACUUM", "ANALYZE"))]
    assert len(vacuum) == 2
    for line in vacuum:
        database.execute(line)


def test_the_remedy_of_a_timeout_makes_the_index_that_is_missing(database: Database) -> None:
    create_field_table(database)
    database.execute(READY, ["done", 3_000])
    database.execute("ANALYZE jobs")
    seen = collection_of(database).collect()
    timed_out = claim_cost.ClaimCost(None, None, None, timed_out=True, timeout_seconds=0.1)
    [finding] = claim_timeout.check(replace(seen.look, claim=timed_out))
    assert finding.remedy.startswith("CREATE INDEX CONCURRENTLY")
    database.execute(finding.remedy)


@pytest.mark.parametrize(("seconds", "named"), [(59.0, False), (61.0, True)])
def test_the_remedy_of_a_timeout_ends_first_who_has_long_kept_vacuum_from_dead_rows(
    database: Database,
    seconds: float,
    named: bool,  # noqa: FBT001
) -> None:
    _filled(database)
    seen = collection_of(database).collect()
    holder = Holder(
        "backend", 4242, "report", "bi", "idle in transaction", seconds, 9_000, "pgq-ops transactions end 1@2"
    )
    look = replace(
        seen.look,
        claim=claim_cost.ClaimCost(None, None, None, timed_out=True, timeout_seconds=0.1),
        database=replace(seen.look.database, horizon=Horizon(9_000, (holder,))),
    )
    [finding] = claim_timeout.check(look)
    lines = [line for line in finding.remedy.splitlines() if not line.startswith(("#", "--"))]
    vacuum = ['VACUUM (INDEX_CLEANUP ON) "public"."jobs";', 'ANALYZE "public"."jobs";']
    assert lines == (["pgq-ops transactions end 1@2"] if named else []) + vacuum


def test_somebody_s_cancelling_is_not_taken_for_a_slow_claim(database: Database) -> None:
    create_field_table(database)
    bound = bind_toml(database, FIELD, limits=Limits(statement_ms=20_000))
    with pytest.raises(errors.QueryCanceled):
        claim_cost._timed_out(bound.connection, bound.table, 0.05)
    known = claim_cost._timed_out(bound.connection, bound.table, 20.1)
    assert (known.timed_out, known.timeout_seconds) == (True, 20.0)


@pytest.mark.case("M1")
def test_a_locked_table_is_busy_at_once_and_its_cost_unknown(database: Database) -> None:
    _filled(database)
    bound = bind_toml(database, FIELD, limits=PROBE_LIMITS, read_only=True)
    holder = database.connect(autocommit=False)
    holder.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
    began = time.monotonic()
    with pytest.raises(errors.LockNotAvailable):
        claim_cost.read(bound.connection, bound.table)
    assert time.monotonic() - began < 1
    holder.rollback()
    assert claim_cost.read(bound.connection, bound.table) is not None


def test_a_role_needs_no_more_than_the_mapped_columns(database: Database, make_role: Roles) -> None:
    _filled(database)
    role = make_role("observer")
    database.execute(f"GRANT SELECT (id, status, run_at) ON jobs TO {role}")
    bound = bind_toml(database, HEAD + COLUMNS + STATES, role=role, read_only=True)
    cost = claim_cost.read(bound.connection, bound.table)
    assert cost is not None
    assert cost.buffers


PARTITIONED = """
    CREATE TABLE jobs (id int GENERATED ALWAYS AS IDENTITY, status text, run_at timestamptz) PARTITION BY RANGE (id);
    CREATE TABLE jobs_low PARTITION OF jobs FOR VALUES FROM (MINVALUE) TO (1001);
    CREATE TABLE jobs_high PARTITION OF jobs FOR VALUES FROM (1001) TO (MAXVALUE);
    CREATE INDEX claim ON jobs (run_at) WHERE status = 'pending';
"""


def test_of_a_partitioned_table_every_leaf_s_index_is_read(database: Database) -> None:
    database.execute(PARTITIONED)
    database.execute(READY, ["pending", 3_000])
    database.execute("ANALYZE jobs")
    plan = _plan(database, HEAD + COLUMNS + STATES + '[job_tables.jobs.claim]\norder = ["run_at"]\n')
    assert plan.scans == (("jobs_low", "jobs_low_run_at_idx"), ("jobs_high", "jobs_high_run_at_idx"))
    assert plan.node == "Index Scan using jobs_low_run_at_idx, jobs_high_run_at_idx"
    assert (plan.rows_read, plan.rows_returned) == (2, 1)


def test_a_descending_order_and_states_by_predicates_are_the_claim_s_own(database: Database) -> None:
    database.execute("""
        CREATE TABLE jobs (id int, "Prio %" int, run_at timestamptz, finished_at timestamptz, locked_at timestamptz);
        CREATE INDEX claim ON jobs ("Prio %" DESC, run_at) WHERE finished_at IS NULL AND locked_at IS NULL;
        INSERT INTO jobs SELECT i, i % 3, now() - make_interval(secs => i), CASE WHEN i % 2 = 0 THEN now() END
        FROM generate_series(1, 4000) AS i;
        ANALYZE jobs
    """)
    toml = (
        HEAD
        + COLUMNS.replace('state = "status"\n', "")
        + """
        [job_tables.jobs.claim]
        order = ["Prio % desc", "run_at"]
        [job_tables.jobs.states]
        pending = { where = "finished_at IS NULL AND locked_at IS NULL" }
        running = { where = "finished_at IS NULL AND locked_at IS NOT NULL" }
        done = { where = "finished_at IS NOT NULL" }
        dead = { where = "false" }
        """
    )
    plan = _plan(database, toml)
    assert (plan.node, plan.rows_read) == ("Index Scan using claim", 1)


def test_a_table_without_key_and_with_mapped_expressions_has_a_cost(database: Database) -> None:
    database.execute("""
        CREATE TABLE jobs (body jsonb);
        CREATE INDEX claim ON jobs ((body ->> 'at')) WHERE body ->> 'state' = 'pending';
        INSERT INTO jobs SELECT jsonb_build_object('state', 'pending', 'at', to_char(i, 'FM00000')) FROM generate_series(1, 3000) AS i;
        ANALYZE jobs
    """)
    toml = (
        HEAD
        + """
        [job_tables.jobs.columns]
        id = { sql = "j.body ->> 'id'" }
        state = { sql = "j.body ->> 'state'" }
        """
        + STATES
    )
    plan = _plan(database, toml)
    assert plan.rows_returned == 1
    assert plan.node == "Index Scan using claim" or plan.scans_table
