"""Who holds back the horizon, with real sessions: exactly the guilty are named, and VACUUM VERBOSE agrees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.stats import transactions
from tests.support.agent import wait_until
from tests.support.database import unique
from tests.support.vacuuming import Ground, begun

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.stats.horizon import Holder
    from tests.support.database import Database
    from tests.support.roles import Roles

READ, WROTE, WROTE_NOTHING = (
    "SELECT FROM t",
    "UPDATE t SET n = n WHERE id = 1",
    "UPDATE t SET n = n WHERE id = 99",
)


@pytest.fixture
def ground(database: Database) -> Ground:
    return Ground(database)


def aged(xids: int) -> range:
    """An age of so many transactions, or a few more: an autovacuum may come by, which takes some of its own."""
    return range(xids, xids + 50)


def named(ground: Ground) -> list[tuple[str, str]]:
    return [(holder.kind, holder.name) for holder in ground.holders()]


def only(holders: list[Holder]) -> Holder:
    [holder] = holders
    return holder


def test_where_nobody_has_a_transaction_nobody_is_named(ground: Ground) -> None:
    ground.change()
    found = ground.look()
    assert (found.age_xids, found.holders, found.catalog_xmin_age, found.visible) == (0, (), None, True)
    ground.agree(kept=0)


@pytest.mark.case("V5")
@pytest.mark.parametrize(
    ("statement", "repeatable", "holds"),
    [(READ, False, False), (WROTE_NOTHING, False, False), (WROTE, False, True), (READ, True, True)],
    ids=["only-read", "wrote-nothing", "wrote", "repeatable-read"],
)
def test_of_idle_sessions_only_those_that_wrote_or_keep_a_snapshot_hold(
    ground: Ground,
    statement: str,
    repeatable: bool,  # noqa: FBT001
    holds: bool,  # noqa: FBT001
) -> None:
    idle = begun(ground.database, "idle", statement, repeatable=repeatable)
    ground.change()
    assert named(ground) == ([("backend", "idle")] if holds else [])
    ground.agree(kept=5 if holds else 0)
    [session] = transactions.read(ground.database.connect()).sessions
    assert session.idle
    assert session.pid == idle.info.backend_pid
    assert session.holds_vacuum is holds
    idle.rollback()
    assert named(ground) == []
    ground.agree(kept=0)


def test_a_holder_is_told_with_its_ages_who_it_is_and_what_it_does(ground: Ground, make_role: Roles) -> None:
    bi = make_role("bi")
    ground.database.execute(f'GRANT SELECT ON t TO "{bi}"')
    session = ground.database.connect(user=bi, application_name="report-job", autocommit=False)
    session.execute("DECLARE c CURSOR FOR SELECT FROM t")
    ground.change(7)
    ground.database.execute("SELECT pg_sleep(0.1)")
    found = only(ground.holders())
    assert (found.kind, found.pid, found.name) == ("backend", session.info.backend_pid, "report-job")
    assert (found.user, found.state, found.backend_type) == (bi, "idle in transaction", "client backend")
    assert found.xid_age in aged(7)
    assert found.seconds is not None
    assert 0.1 <= found.seconds < 60
    started = ground.database.value(
        "SELECT extract(epoch FROM xact_start)::text FROM pg_stat_activity WHERE pid = %s", [found.pid]
    )
    assert found.started == started
    assert found.remedy == f"pgq-ops transactions end --yes {found.pid}@{started}"
    ground.agree(kept=7)


def test_a_statement_that_runs_holds(ground: Ground) -> None:
    running = ground.database.connect(application_name="long")
    running.pgconn.send_query(b"SELECT pg_sleep(60)")
    wait_until(lambda: named(ground) == [("backend", "long")])
    ground.change()
    assert only(ground.holders()).state == "active"
    ground.agree(kept=5)
    running.cancel()
    wait_until(lambda: named(ground) == [])
    ground.agree(kept=0)


def test_the_oldest_comes_first_whatever_it_holds_by(ground: Ground) -> None:
    begun(ground.database, "reader", READ, repeatable=True)
    ground.change(2)
    begun(ground.database, "writer", WROTE)
    ground.change(3)
    begun(ground.database, "late reader", READ, repeatable=True)
    ground.change(1)
    # A snapshot is as old as the oldest transaction that it has to see as running, which is the writer's.
    holders = ground.holders()
    assert [one.name for one in holders] == ["reader", "writer", "late reader"]
    reader, writer, late = (one.xid_age for one in holders)
    assert reader - 2 == writer == late
    assert reader in aged(7)
    assert ground.look().age_xids == 7
    ground.agree(kept=6)


@pytest.mark.case("V6")
def test_a_prepared_transaction_is_named_and_ended_by_its_remedy(ground: Ground) -> None:
    session = begun(ground.database, "gone", WROTE)
    gid = "it's\\ours 100%"
    session.execute("PREPARE TRANSACTION " + "'it''s\\ours 100%'")
    session.close()
    ground.change()
    found = only(ground.holders())
    assert (found.kind, found.pid, found.name, found.user) == ("prepared", None, gid, "postgres")
    assert found.xid_age in aged(6)
    assert found.seconds is not None
    ground.agree(kept=5)
    ground.database.execute(found.remedy)
    assert ground.holders() == []
    ground.agree(kept=0)


def test_what_goes_on_in_another_database_holds_nothing_here(
    ground: Ground, make_database: Callable[[], Database]
) -> None:
    other = Ground(make_database())
    begun(other.database, "reader", READ, repeatable=True)
    begun(other.database, "writer", WROTE)
    begun(other.database, "prepared", WROTE.replace("1", "2")).execute("PREPARE TRANSACTION 'other'")
    ground.change()
    assert named(ground) == []
    ground.agree(kept=0)
    assert {kind for kind, _ in named(other)} == {"backend", "prepared"}


@pytest.mark.parametrize("prepared", [False, True])
def test_who_writes_in_another_database_is_guilty_where_a_snapshot_here_has_to_see_it(
    ground: Ground,
    make_database: Callable[[], Database],
    prepared: bool,  # noqa: FBT001
) -> None:
    other = Ground(make_database())
    writer = begun(other.database, "elsewhere", WROTE)
    if prepared:
        writer.execute("PREPARE TRANSACTION 'elsewhere'")
    begun(other.database, "innocent", WROTE.replace("1", "2"))
    ground.change()
    begun(ground.database, "here", READ, repeatable=True)
    writing, reading = ground.holders()
    assert (writing.name, writing.database, writing.wrote) == ("elsewhere", other.database.name, True)
    assert writing.kind == ("prepared" if prepared else "backend")
    assert (reading.name, reading.database, reading.wrote) == ("here", "", False)
    assert writing.xid_age == reading.xid_age
    assert writing.xid_age in aged(7)
    ground.agree(kept=5)
    (other if prepared else ground).database.execute(writing.remedy)
    assert named(ground) == [("backend", "here")]
    ground.agree(kept=5)


@pytest.mark.case("V9")
def test_of_short_snapshots_that_overlap_the_horizon_s_age_tells_though_none_is_old(ground: Ground) -> None:
    readers = [begun(ground.database, "reader 0", READ, repeatable=True)]
    for number in range(1, 7):
        ground.change(10)
        readers.append(begun(ground.database, f"reader {number}", READ, repeatable=True))
        ground.change(10)
        readers.pop(0).close()
        wait_until(lambda number=number: named(ground) == [("backend", f"reader {number}")])  # type: ignore[misc]
        assert ground.look().age_xids == 10
        ground.agree(kept=10)


def test_a_logical_slot_holds_back_catalogs_and_no_user_s_table(ground: Ground) -> None:
    ground.database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [unique("logical")])
    ground.change()
    found = ground.look()
    assert found.catalog_xmin_age is not None
    assert found.catalog_xmin_age >= 5
    assert (found.age_xids, found.holders) == (0, ())
    ground.agree(kept=0)


def test_a_table_copy_of_logical_replication_holds_as_a_session_does(ground: Ground) -> None:
    sender = ground.database.connect(replication="database", application_name="copy")
    sender.pgconn.exec_(b"BEGIN READ ONLY ISOLATION LEVEL REPEATABLE READ")
    slot = unique("copied").encode()
    made = sender.pgconn.exec_(b"CREATE_REPLICATION_SLOT " + slot + b" TEMPORARY LOGICAL pgoutput USE_SNAPSHOT")
    assert made.error_message == b""
    ground.change()
    found = only(ground.holders())
    assert (found.kind, found.name, found.backend_type) == ("backend", "copy", "walsender")
    ground.agree(kept=5)
    ground.database.execute(found.remedy)
    wait_until(lambda: named(ground) == [])
    ground.agree(kept=0)
