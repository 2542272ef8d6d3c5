"""The statements that are advised: pasted as they are, they make what was missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from pgq_ops.stats.index_support import Question
from tests.support.collecting import Collection, collection_of
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database

ADVISED = ("no-running-index", "no-pending-index")
STATES = """
[job_tables.jobs.states]
pending = ["pending"]
running = ["running"]
done = ["done"]
dead = ["dead"]
"""


def _paste(database: Database, seen: Collection) -> None:
    """Run the remedies statement by statement, then see that nothing is missing any more."""
    for wanted in ADVISED:
        for line in seen.finding(wanted).remedy.splitlines():
            database.execute(line.replace("%", "%%"), {})
    seen.healthy()
    assert seen.finding_ids().isdisjoint(ADVISED)
    support = seen.last.look.support if seen.last else None
    assert support is not None
    assert support.serving[Question.RUNNING].whole
    assert support.serving[Question.PENDING].whole


def test_where_leases_are_extended_the_index_is_on_the_key(database: Database) -> None:
    create_field_table(database)
    database.execute("DROP INDEX jobs_running")
    seen = collection_of(database).healthy()
    finding = seen.finding("no-running-index")
    assert finding.remedy == (
        'CREATE INDEX CONCURRENTLY "jobs_pgq_ops_running" ON "public"."jobs" ("id") WHERE "status" = \'running\';'
    )
    assert seen.finding("no-pending-index").remedy == (
        'CREATE INDEX CONCURRENTLY "jobs_pgq_ops_pending" ON "public"."jobs" ("run_at", "id") WHERE "status" = \'pending\';'
    )
    assert finding.severity == "info"
    _paste(database, seen)
    assert seen.last is not None
    assert seen.last.look.support is not None
    assert Question.PENDING_IN_ORDER in seen.last.look.support.serving


@pytest.mark.case("R17")
def test_on_a_large_table_a_missing_index_is_a_warning(database: Database) -> None:
    create_field_table(database)
    database.execute("DROP INDEX jobs_running")
    database.execute("INSERT INTO jobs (status, lease_until) SELECT 'running', now() FROM generate_series(1, 201000)")
    database.execute("ANALYZE jobs")
    seen = collection_of(database).healthy()
    assert seen.finding("no-running-index").severity == "warning"
    assert seen.values("leases") == {}
    _paste(database, seen)
    assert seen.leases("(null)") == {"expired": 10_001}


def test_where_nothing_extends_a_lease_the_index_is_on_its_column_and_the_claims_order_is_kept(
    database: Database,
) -> None:
    database.execute("""
        CREATE TABLE jobs (id bigint PRIMARY KEY, status text, priority int, run_after timestamptz,
            started_at timestamptz, attempts int)
    """)
    seen = collection_of(database, '[job_tables.jobs]\ntable = "jobs"\npreset = "started-at"\n').healthy()
    assert seen.finding("no-running-index").remedy.endswith(
        'ON "public"."jobs" ("started_at") WHERE "status" = \'running\';'
    )
    assert '("priority" DESC, "run_after")' in seen.finding("no-pending-index").remedy
    _paste(database, seen)


@pytest.mark.case("C1")
def test_odd_names_are_quoted(database: Database) -> None:
    name = 'Order "100 %" {x}'
    quoted = '"' + name.replace('"', '""') + '"'
    database.execute(
        f"""CREATE SCHEMA "Ops-Q"; CREATE TABLE "Ops-Q".{quoted} ("Id" uuid PRIMARY KEY, "done %" text,
        "Created At" timestamptz, "desc" timestamptz)"""
    )
    toml = f"""
[job_tables.jobs]
table = '"Ops-Q".{quoted}'
[job_tables.jobs.columns]
id = "Id"
state = "done %"
available_at = "Created At"
lease_expires_at = "desc"
{STATES}"""
    seen = collection_of(database, toml).healthy()
    assert seen.finding("no-running-index").remedy == (
        'CREATE INDEX CONCURRENTLY "Order ""100 %"" {x}_pgq_ops_running" ON "Ops-Q"."Order ""100 %"" {x}" ("Id")'
        " WHERE \"done %\" = 'running';"
    )
    _paste(database, seen)


@pytest.mark.parametrize("prefix", ["jobs", "j" * 60, "é" * 29])
def test_on_a_partitioned_table_the_index_is_made_leaf_by_leaf(database: Database, prefix: str) -> None:
    leaf, branch = f"{prefix}_1", f"{prefix}_2"
    database.execute(f"""
        CREATE TABLE jobs (id bigint, status text, run_at timestamptz, lease_until timestamptz, PRIMARY KEY (id))
            PARTITION BY RANGE (id);
        CREATE TABLE "{leaf}" PARTITION OF jobs FOR VALUES FROM (0) TO (10);
        CREATE TABLE "{branch}" PARTITION OF jobs FOR VALUES FROM (10) TO (20) PARTITION BY RANGE (id);
        CREATE TABLE "{prefix}_3" PARTITION OF "{branch}" FOR VALUES FROM (10) TO (20);
    """)
    toml = f"""
[job_tables.jobs]
table = "jobs"
[job_tables.jobs.columns]
id = "id"
state = "status"
available_at = "run_at"
lease_expires_at = "lease_until"
{STATES}"""
    seen = collection_of(database, toml).healthy()
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        database.execute("CREATE INDEX CONCURRENTLY ON jobs (id) WHERE status = 'running'")
    _paste(database, seen)
    invalid = "SELECT count(*) FROM pg_index WHERE NOT indisvalid"
    assert database.value(invalid) == 0


def test_where_no_partial_index_can_hold_the_state_none_is_advised(database: Database) -> None:
    create_field_table(database)
    toml = FIELD.replace('running = ["running"]', "running = { where = \"status = 'running' AND run_at <= now()\" }")
    database.execute("DROP INDEX jobs_running")
    seen = collection_of(database, toml).healthy()
    assert seen.finding("no-running-index").remedy == ""
