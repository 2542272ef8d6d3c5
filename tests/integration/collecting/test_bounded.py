"""What a look sets on its session: for itself alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from psycopg import errors
from psycopg import sql as composing

from pgq_ops.db.connection import PROBE_LIMITS
from pgq_ops.stats import bounded
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.binding import BoundTable
    from tests.support.database import Database

NAMES = ("enable_seqscan", "enable_sort", "statement_timeout")
SHOW = composing.SQL(
    "SELECT current_setting('enable_seqscan'), current_setting('enable_sort'), current_setting('statement_timeout')"
)
PARTITIONED = """
    CREATE TABLE jobs (id int, queue text, status text, lease_until timestamptz, run_at timestamptz, attempts int,
        max_attempts int, locked_by text, created_at timestamptz, finished_at timestamptz, last_error text)
        PARTITION BY RANGE (id);
    CREATE TABLE jobs_low PARTITION OF jobs FOR VALUES FROM (MINVALUE) TO (4);
    CREATE TABLE jobs_high PARTITION OF jobs FOR VALUES FROM (4) TO (MAXVALUE) PARTITION BY RANGE (id);
    CREATE TABLE jobs_high_1 PARTITION OF jobs_high FOR VALUES FROM (4) TO (MAXVALUE);
"""


def _settings(bound: BoundTable) -> tuple[str, ...]:
    return bound.connection.execute(SHOW).fetchall()[0]


@pytest.mark.parametrize(("partitioned", "timeout"), [(False, "100ms"), (True, "103ms")])
def test_a_look_goes_by_indexes_and_gets_a_millisecond_more_for_each_partition(
    database: Database,
    partitioned: bool,  # noqa: FBT001
    timeout: str,
) -> None:
    if partitioned:
        database.execute(PARTITIONED)
    else:
        create_field_table(database)
    bound = bind_toml(database, FIELD, limits=PROBE_LIMITS)
    before = _settings(bound)
    assert before == ("on", "on", "100ms")
    [row], now = bounded.read(bound.connection, bound.table, SHOW, {})
    assert row == ("off", "off", timeout)
    assert now == pytest.approx(database.value("SELECT extract(epoch FROM now())::float8"), abs=60)
    [row], _ = bounded.read(bound.connection, bound.table, SHOW, {}, through_indexes=False)
    assert row == ("on", "on", timeout)
    with bounded.transaction(bound.connection, bound.table):
        assert _settings(bound) == ("off", "off", timeout)
    assert _settings(bound) == before


def test_a_look_that_fails_leaves_nothing_on_its_session(database: Database) -> None:
    create_field_table(database)
    bound = bind_toml(database, FIELD, limits=PROBE_LIMITS)
    before = _settings(bound)
    holder = database.connect(autocommit=False)
    holder.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
    with pytest.raises(errors.LockNotAvailable):
        bounded.read(bound.connection, bound.table, composing.SQL("SELECT FROM jobs"), {})
    with pytest.raises(errors.QueryCanceled):
        bounded.read(bound.connection, bound.table, composing.SQL("SELECT pg_sleep(5)"), {})
    assert _settings(bound) == before
    [[one]], _ = bounded.read(bound.connection, bound.table, composing.SQL("SELECT %(one)s"), {"one": "100 %"})
    assert one == "100 %"


def test_each_of_several_looks_has_the_whole_timeout(database: Database) -> None:
    create_field_table(database)
    bound = bind_toml(database, FIELD, limits=PROBE_LIMITS)
    naps = [composing.SQL("SELECT pg_sleep(0.06)::text")] * 3
    assert bounded.read_all(bound.connection, bound.table, naps, {})[0] == [[("",)]] * 3
    with pytest.raises(errors.QueryCanceled):
        bounded.read_all(bound.connection, bound.table, [*naps, composing.SQL("SELECT pg_sleep(5)")], {})
