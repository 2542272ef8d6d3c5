"""The workers' own claims, by pg_stat_statements: where it is there, visible and reset, and where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from pgq_ops.db.connection import PROBE_LIMITS
from pgq_ops.demo.server import EmbeddedServer
from pgq_ops.stats import claim_statements
from tests.support.binding import bind_toml
from tests.support.collecting import collection_of
from tests.support.jobs import FIELD, create_field_table, reap

if TYPE_CHECKING:
    from pgq_ops.stats.claim_statements import ClaimStatements
    from tests.support.database import Database
    from tests.support.postgres import Server
    from tests.support.roles import Roles

CLAIM = """
    UPDATE jobs SET status = 'running', lease_until = now() - interval '1 s' WHERE id = (
        SELECT id FROM jobs WHERE status = 'pending' AND run_at <= now() ORDER BY run_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
    ) RETURNING id
"""
RESET = "SELECT pg_stat_statements_reset(0, (SELECT oid FROM pg_database WHERE datname = current_database()), 0)"


@pytest.fixture(autouse=True)
def _counted(database: Database) -> None:
    create_field_table(database)
    if not database.value("SELECT current_setting('pg_stat_statements.max', true) IS NOT NULL"):
        pytest.skip("this server was started without pg_stat_statements")


def _ready(database: Database, jobs: int) -> None:
    database.execute("INSERT INTO jobs (status) SELECT 'pending' FROM generate_series(1, %s)", [jobs])


def _claim(database: Database, times: int, **options: Any) -> None:
    with database.connect(**options) as worker:
        for _ in range(times):
            worker.execute(CLAIM)


def _read(database: Database, role: str | None = None) -> ClaimStatements:
    bound = bind_toml(database, FIELD, limits=PROBE_LIMITS, read_only=True, role=role)
    return claim_statements.read(bound.connection, bound.table)


def test_calls_time_and_jobs_of_the_workers_claims_are_counted_and_empty_polls_show(database: Database) -> None:
    database.execute("CREATE SCHEMA stats; CREATE EXTENSION pg_stat_statements SCHEMA stats")
    _ready(database, 3)
    _claim(database, 5)
    seen = _read(database)
    assert (seen.calls, seen.rows, seen.why_not) == (5, 3, "")
    assert seen.seconds == pytest.approx(
        database.value(
            "SELECT sum(total_exec_time) / 1000 FROM stats.pg_stat_statements WHERE query LIKE '%%lease_until = now()%%SKIP%%'",
            [],
        )
    )
    [text] = seen.queries
    assert "SKIP LOCKED" in text
    assert "'pending'" not in text


def test_our_own_statements_are_not_the_workers(database: Database) -> None:
    database.execute("CREATE EXTENSION pg_stat_statements")
    _ready(database, 2)
    _claim(database, 2)
    assert reap(database).requeued == 2
    own = "SELECT count(*) FROM pg_stat_statements WHERE query LIKE '%%pgq_ops_key%%SKIP LOCKED%%' AND query LIKE '%%jobs%%'"
    assert database.value(own, []) >= 1
    assert _read(database).calls == 2


def test_exported_counters_never_fall_and_go_on_after_a_reset(database: Database) -> None:
    database.execute("CREATE EXTENSION pg_stat_statements")
    _ready(database, 1)
    _claim(database, 4)
    seen = collection_of(database).healthy()
    assert seen.value("claim_statement_calls_total") == 4
    assert seen.value("claim_statement_rows_total") == 1
    before = seen.value("claim_statement_seconds_total")
    assert before is not None
    database.execute(RESET)
    seen.healthy()
    assert seen.value("claim_statement_calls_total") == 4
    _claim(database, 3)
    seen.healthy()
    assert seen.value("claim_statement_calls_total") == 7
    assert seen.value("claim_statement_rows_total") == 1
    after = seen.value("claim_statement_seconds_total")
    assert after is not None
    assert after > before


def test_from_17_on_a_reset_is_noticed_also_where_the_counters_have_outgrown_it(
    database: Database, pg_major: int
) -> None:
    database.execute("CREATE EXTENSION pg_stat_statements")
    _claim(database, 2)
    seen = collection_of(database).healthy()
    database.execute(RESET)
    _claim(database, 40)
    counted = seen.healthy().value("claim_statement_calls_total")
    assert counted == (42 if pg_major >= 17 else 40)


def test_between_two_searches_counters_are_read_without_texts(database: Database) -> None:
    database.execute("CREATE EXTENSION pg_stat_statements")
    _claim(database, 4)
    seen = collection_of(database).healthy()
    database.execute(RESET)
    _claim(database, 2)
    database.execute("SELECT id FROM jobs WHERE status = 'pending' FOR NO KEY UPDATE SKIP LOCKED")
    seen.clock.seconds -= 540  # a minute later: counted again, not searched
    seen.healthy()
    assert seen.value("claim_statement_calls_total") == 6
    texts = (
        "SELECT sum(calls) FROM pg_stat_statements WHERE query LIKE '%%strpos(s.query%%' AND query NOT LIKE '%%sum(calls)%%'"
        " AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    assert database.value(texts, []) is None
    seen.healthy()
    assert seen.value("claim_statement_calls_total") == 7
    assert database.value(texts, []) == 1


def test_a_database_without_the_extension_says_how_to_get_it(database: Database) -> None:
    _claim(database, 1)
    seen = _read(database)
    assert seen.why_not.endswith("it takes CREATE EXTENSION pg_stat_statements;")
    collected = collection_of(database).healthy()
    assert collected.value("claim_statement_calls_total") is None
    assert collected.last is not None
    assert collected.last.look.claim_statements == seen
    database.execute("CREATE EXTENSION pg_stat_statements")
    _claim(database, 1)
    assert _read(database).calls >= 1


def test_a_role_that_sees_only_its_own_statements_is_told_the_grant(database: Database, make_role: Roles) -> None:
    database.execute("CREATE EXTENSION pg_stat_statements")
    _claim(database, 2)
    role = make_role("observer")
    database.execute(f"GRANT SELECT ON jobs TO {role}")
    seen = _read(database, role)
    assert (seen.calls, seen.queries) == (0, ())
    assert seen.why_not.endswith(f'GRANT pg_read_all_stats TO "{role}";')
    database.execute(seen.why_not[seen.why_not.index("GRANT") :])
    assert (_read(database, role).calls, _read(database, role).why_not) == (2, "")


@pytest.mark.parametrize("lacking", ["SCHEMA", "FUNCTION"])
def test_a_role_that_may_not_ask_the_extension_is_told_the_grant(
    database: Database, make_role: Roles, lacking: str
) -> None:
    database.execute("CREATE SCHEMA stats; CREATE EXTENSION pg_stat_statements SCHEMA stats")
    _claim(database, 2)
    role = make_role("observer", member_of=("pg_monitor",))
    database.execute(f"GRANT SELECT ON jobs TO {role}")
    if lacking == "FUNCTION":
        database.execute("REVOKE EXECUTE ON FUNCTION stats.pg_stat_statements(boolean) FROM PUBLIC")
        database.execute(f"GRANT USAGE ON SCHEMA stats TO {role}")
    seen = _read(database, role)
    assert seen.calls == 0
    database.execute(seen.why_not[seen.why_not.index("GRANT") :])
    assert _read(database, role).calls == 2


def test_claims_within_functions_take_a_setting_which_is_named(database: Database) -> None:
    database.execute("CREATE EXTENSION pg_stat_statements")
    database.execute(f"CREATE FUNCTION claim() RETURNS SETOF bigint LANGUAGE sql AS $$ {CLAIM} $$")
    _ready(database, 1)
    database.execute("SELECT claim()")
    assert "pg_stat_statements.track = 'all'" in _read(database).why_not
    database.execute(f"ALTER DATABASE {database.name} SET pg_stat_statements.track = 'all'")
    with database.connect() as worker:
        worker.execute("SELECT claim()")
    assert (_read(database).calls, _read(database).why_not) == (1, "")


@pytest.mark.case("C1")
def test_a_table_of_the_same_name_in_another_schema_keeps_its_claims_to_itself(database: Database) -> None:
    database.execute("CREATE EXTENSION pg_stat_statements")
    database.execute("CREATE SCHEMA other; CREATE TABLE other.jobs (LIKE jobs)")
    _claim(database, 2)
    # Another statement: from 18 on the same one on tables of one name is counted as one.
    database.execute("SELECT id FROM other.jobs LIMIT 1 FOR UPDATE SKIP LOCKED")
    assert _read(database).calls == 2
    bound = bind_toml(database, FIELD.replace('table = "jobs"', 'table = "other.jobs"'), read_only=True)
    assert claim_statements.read(bound.connection, bound.table).calls == 1


def test_a_server_that_has_not_loaded_it_says_how_to_get_it(server: Server) -> None:
    if server.embedded is None:
        pytest.skip("only an embedded server can be started without the library")
    with (
        EmbeddedServer({"fsync": "off"}, server.embedded.binaries) as bare,
        psycopg.connect(bare.dsn(), autocommit=True) as connection,
    ):
        connection.execute("CREATE TABLE jobs (id int, status text)")
        table = _Bare(bare.dsn())
        assert "shared_preload_libraries" in table.why_not()
        assert table.why_not().endswith("then CREATE EXTENSION pg_stat_statements;")
        connection.execute("CREATE EXTENSION pg_stat_statements")
        assert table.why_not().endswith("a restart of the server")


class _Bare:
    """The job table of a server of its own."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn

    def why_not(self) -> str:
        toml = """
            [job_tables.jobs]
            table = "jobs"
            [job_tables.jobs.columns]
            id = "id"
            state = "status"
            [job_tables.jobs.states]
            pending = ["pending"]
            running = ["running"]
            done = ["done"]
            dead = ["dead"]
        """
        bound = bind_toml(self, toml, read_only=True)  # type: ignore[arg-type]
        with bound.connection:
            return claim_statements.read(bound.connection, bound.table).why_not

    def adopt(self, connection: object) -> None:
        """It is closed here."""
