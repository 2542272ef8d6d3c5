"""Upkeep on real tables: what it runs, what it only says, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pgq_ops.agent.registry import upkeep_news
from pgq_ops.config.maintenance import Autovacuum
from pgq_ops.errors import NotPermitted
from pgq_ops.tasks.task import Outcome
from pgq_ops.tasks.upkeep import frozen
from pgq_ops.tasks.upkeep.ending import VacuumFate
from pgq_ops.tasks.upkeep.table_track import CATALOG_SECONDS
from tests.support.agent import wait_until
from tests.support.collecting import collection_of
from tests.support.jobs import SMALL
from tests.support.table_health import COLUMNS, told, vacuum, write
from tests.support.upkeep import Keeper, maintenance, table_of

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

VACUUMS = "SELECT pg_stat_get_vacuum_count('jobs'::regclass)"
DEAD = "SELECT pg_stat_get_dead_tuples('jobs'::regclass)"


@pytest.fixture
def keeper(database: Database) -> Keeper:
    """Upkeep of a table with 1,000 rows that bears as many dead ones; it has been looked at once."""
    database.execute(f"CREATE TABLE jobs ({COLUMNS}, PRIMARY KEY (id))")
    write(database, "INSERT INTO jobs SELECT n, 'pending', now() FROM generate_series(1, 1000) AS n")
    told(database, 1_000)
    keeper = Keeper(database, table_of(database), maintenance(database))
    result = keeper.look()
    assert result is not None
    assert (result.outcome, result.message, result.needs) == (Outcome.NOTHING, "", ())
    return keeper


def let_die(database: Database, rows: int = 600) -> None:
    """Let rows die, and the statistics know of it."""
    before = database.value("SELECT pg_stat_get_tuples_updated('jobs'::regclass)")
    write(database, f"UPDATE jobs SET status = 'x' WHERE id <= {rows}")
    wait_until(
        lambda: database.value("SELECT pg_stat_get_tuples_updated('jobs'::regclass)") >= before + rows, what="counted"
    )


def test_a_hot_table_is_vacuumed_and_rests_then(keeper: Keeper) -> None:
    let_die(keeper.database)
    assert keeper.look() is None, "something is to be run"
    result = keeper.act()
    assert result.outcome is Outcome.OK
    assert result.end is not None
    assert (result.end.removed_rows, result.end.left_rows) == (600, 0)
    assert keeper.database.value(VACUUMS) == 1
    assert keeper.counted() == {"ok": 1}
    assert keeper.look() is not None
    assert keeper.act().end is None
    assert keeper.database.value(VACUUMS) == 1


def test_counters_are_asked_for_in_between_so_that_a_burst_is_known_at_once(keeper: Keeper) -> None:
    let_die(keeper.database)
    keeper.now += 5
    assert keeper.task.rest(keeper.table) is None, "no look came, but it asks itself"
    assert keeper.act().outcome is Outcome.OK


def test_the_next_look_comes_when_the_counters_are_due_and_not_a_moment_before(keeper: Keeper) -> None:
    for _ in range(3):
        result = keeper.act()
        assert result.again_seconds is not None
        assert 5 < result.again_seconds < 5.5
        keeper.now += result.again_seconds
        assert keeper.task.rest(keeper.table) is None, "they are to be asked for"


def test_by_default_it_says_what_it_would_do_and_does_nothing(keeper: Keeper) -> None:
    keeper.terms = Autovacuum(dead_tuple_budget=1_000)
    let_die(keeper.database)
    result = keeper.look()
    assert result is not None
    assert result.outcome is Outcome.NOTHING
    assert result.message == "would VACUUM public.jobs"
    [need] = result.as_json()["needs"]
    assert "rows die there each second, so 1,000 dead rows, which a claim can bear, in" in need["reason"]
    assert keeper.act().end is None
    assert keeper.database.value(VACUUMS) == 0
    assert keeper.counted() == {}


def test_a_dry_run_reads_only(keeper: Keeper) -> None:
    let_die(keeper.database)
    keeper.look()
    result = keeper.task.plan(keeper.connection, keeper.table)
    assert result.message == "would VACUUM public.jobs"
    assert result.as_json()["dry_run"] is True
    assert keeper.database.value(VACUUMS) == 0


def test_no_vacuum_begins_once_the_guard_refuses(keeper: Keeper) -> None:
    let_die(keeper.database)
    keeper.look()
    assert keeper.task.run(keeper.connection, keeper.table, lambda: False).end is None
    assert keeper.database.value(VACUUMS) == 0


def test_without_the_section_nothing_happens(keeper: Keeper) -> None:
    keeper.terms = None
    let_die(keeper.database)
    result = keeper.look()
    assert result is not None
    assert result.needs == ()


def test_while_somebody_keeps_the_rows_it_says_who_and_vacuums_once_he_has_let_go(keeper: Keeper) -> None:
    holder = keeper.database.connect(autocommit=False, application_name="report")
    holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    holder.execute("SELECT 1")
    let_die(keeper.database)
    result = keeper.look(held_for=60)
    assert result is not None
    assert result.held == f"session {holder.info.backend_pid} (report, user postgres) keeps dead rows of public.jobs"
    assert result.message.startswith("no VACUUM while it removes nothing: session")
    keeper.look(held_for=60)
    assert keeper.counted() == {"useless": 1}, "counted once for each who keeps them"
    assert keeper.database.value(VACUUMS) == 0
    holder.rollback()
    assert keeper.look() is None
    assert keeper.act().outcome is Outcome.OK
    assert keeper.database.value(DEAD) == 0
    assert keeper.counted() == {"useless": 1, "ok": 1}


def test_who_has_only_just_begun_is_no_reason_to_wait_until_a_vacuum_was_in_vain(keeper: Keeper) -> None:
    write(keeper.database, "INSERT INTO jobs SELECT n, 'pending', now() FROM generate_series(1001, 3000) AS n")
    holder = keeper.database.connect(autocommit=False)
    holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    holder.execute("SELECT 1")
    let_die(keeper.database, 2_500)
    assert keeper.look(held_for=0) is None
    assert keeper.act().end is not None
    assert keeper.counted() == {"useless": 1}
    keeper.now += 60
    assert "somebody keeps dead rows" in keeper.act().held, "nobody has looked since"
    assert keeper.counted() == {"useless": 1}
    keeper.look(held_for=66)
    result = keeper.act()
    assert (result.end, result.held) == (
        None,
        f"session {holder.info.backend_pid} (user postgres) keeps dead rows of public.jobs",
    )
    holder.rollback()
    assert keeper.look() is None
    assert keeper.act().outcome is Outcome.OK
    assert keeper.database.value(DEAD) == 0


def test_a_role_that_may_not_is_told_the_grant_and_asks_again_in_a_minute(keeper: Keeper, make_role: Roles) -> None:
    role = make_role("keeper")
    keeper.database.execute(f'GRANT SELECT ON jobs TO "{role}"')
    keeper.connection = maintenance(keeper.database, role)
    let_die(keeper.database)
    assert keeper.look() is None
    with pytest.raises(NotPermitted) as refused:
        keeper.act()
    assert "GRANT" in refused.value.remedy
    assert keeper.counted() == {"not_permitted": 1}
    result = keeper.look(after=1)
    assert result is not None
    assert refused.value.remedy in result.message
    keeper.database.execute(refused.value.remedy)
    assert keeper.act().end is None
    keeper.now += 60
    assert keeper.act().outcome is Outcome.OK


def partitioned(database: Database) -> None:
    database.execute(f"CREATE TABLE jobs ({COLUMNS}) PARTITION BY RANGE (run_at)")
    database.execute("CREATE TABLE jobs_old PARTITION OF jobs FOR VALUES FROM ('2020-01-01') TO ('2020-02-01')")
    database.execute("CREATE TABLE jobs_new PARTITION OF jobs FOR VALUES FROM ('2020-02-01') TO ('2100-01-01')")
    write(database, "INSERT INTO jobs SELECT n, 'done', '2020-01-02' FROM generate_series(1, 500) AS n")
    write(database, "INSERT INTO jobs SELECT n, 'pending', now() FROM generate_series(501, 1000) AS n")
    told(database, 1_000)


def analyze(database: Database) -> None:
    database.execute("ANALYZE jobs")
    known = "SELECT pg_stat_get_last_analyze_time('jobs'::regclass) IS NOT NULL"
    wait_until(lambda: database.value(known), what="known to be analyzed")


def test_a_partitioned_table_is_analyzed_once_a_day(database: Database) -> None:
    partitioned(database)
    keeper = Keeper(database, table_of(database), maintenance(database))
    assert keeper.look() is None, "the catalog is to be asked"
    result = keeper.act()
    assert result.end is not None
    assert (str(result.end.order), result.end.fate) == ("ANALYZE public.jobs", VacuumFate.OK)
    keeper.look()
    assert keeper.act().end is None
    keeper.now += CATALOG_SECONDS
    keeper.look()
    assert keeper.act().end is None, "it was analyzed a moment ago"
    assert database.value("SELECT pg_stat_get_analyze_count('jobs'::regclass)") == 1


def test_a_closed_partition_at_rest_is_frozen_once(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frozen, "YOUNG_XIDS", 0)
    partitioned(database)
    analyze(database)
    keeper = Keeper(database, table_of(database), maintenance(database))
    keeper.look()
    assert keeper.act().end is None, "it was seen for the first time"
    keeper.look(after=CATALOG_SECONDS)
    result = keeper.act()
    assert result.end is not None
    assert (str(result.end.order), result.end.fate) == ("VACUUM FREEZE public.jobs_old", VacuumFate.OK)
    age = "SELECT age(relfrozenxid) FROM pg_class WHERE relname = 'jobs_old'"
    assert database.value(age) <= 3
    for _ in range(2):
        keeper.look(after=CATALOG_SECONDS)
        assert keeper.act().end is None
    assert database.value("SELECT pg_stat_get_vacuum_count('jobs_new'::regclass)") == 0
    write(database, "UPDATE jobs SET attempts = 1 WHERE id = 1")
    keeper.look(after=CATALOG_SECONDS)
    assert keeper.act().end is None, "it is not at rest"


def test_a_closed_partition_that_is_frozen_already_is_left_alone(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    partitioned(database)
    vacuum(database, "VACUUM (FREEZE, ANALYZE) jobs_old")
    analyze(database)
    keeper = Keeper(database, table_of(database), maintenance(database))
    keeper.look()
    keeper.act()
    keeper.look(after=CATALOG_SECONDS)
    assert keeper.act().end is None, "it is young"
    if database.server.major >= 18:
        monkeypatch.setattr(frozen, "YOUNG_XIDS", -1)
        keeper.look(after=CATALOG_SECONDS)
        assert keeper.act().end is None, "the catalog says that all of it is frozen"
    assert database.value("SELECT pg_stat_get_vacuum_count('jobs_old'::regclass)") == 1


def test_nothing_is_frozen_while_somebody_holds_the_horizon_for_long(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frozen, "YOUNG_XIDS", 0)
    partitioned(database)
    analyze(database)
    keeper = Keeper(database, table_of(database), maintenance(database))
    keeper.look()
    keeper.act()
    holder = database.connect(autocommit=False)
    holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    holder.execute("SELECT 1")
    keeper.look(after=CATALOG_SECONDS, held_for=61)
    assert keeper.act().end is None
    holder.rollback()
    keeper.look(after=CATALOG_SECONDS)
    assert keeper.act().end is not None


def test_what_outpaces_autovacuum_becomes_a_finding_of_the_collection(keeper: Keeper) -> None:
    keeper.terms = Autovacuum(dead_tuple_budget=1_000)
    result = keeper.look()
    news = upkeep_news(result)
    assert (news.outpaced, news.acts) == ((), False)
    leaf = keeper.task._tables["jobs"].leaves[keeper.table.relation.oid]
    leaf.dying_for_long = 100
    outpaced = upkeep_news(keeper.look())
    seen = collection_of(keeper.database, SMALL)
    for news_told, expected in ((news, False), (outpaced, True), (replace(outpaced, acts=True), False)):
        found = seen.collector.collect(seen.table, upkeep=news_told).findings
        assert ("vacuum-outpaced" in {finding.id for finding in found}) is expected
