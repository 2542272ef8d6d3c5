"""Looks that are made again and again: planned once a session, and never with a plan that no longer fits."""

from __future__ import annotations

import gc
import re
import weakref
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import errors
from psycopg import sql as composing

from pgq_ops.db.kept_plans import KeptPlans, kept_plans
from pgq_ops.stats import bounded

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from tests.support.database import Database

LOOK = composing.SQL("SELECT n FROM t WHERE n > %(least)s ORDER BY n")
PLANS = "SELECT count(*) FROM pg_prepared_statements WHERE starts_with(name, 'pgq_ops')"


@pytest.fixture
def session(database: Database) -> Connection:
    database.execute("CREATE TABLE t (n int)")
    database.execute("INSERT INTO t VALUES (1), (2)")
    connection: Connection = database.connect()
    return connection


def looked(session: Connection, least: int = 0) -> list[object]:
    [rows] = bounded.planned(session, [LOOK], {"least": least})
    return [row[0] for row in rows]


def kept(session: Connection) -> int:
    return int(session.execute(PLANS, {}).fetchall()[0][0])


def test_the_third_look_keeps_its_plan_and_each_one_sees_what_is_there_by_then(
    session: Connection, database: Database
) -> None:
    assert [(looked(session), kept(session)) for _ in range(2)] == [([1, 2], 0)] * 2
    assert [(looked(session), kept(session)) for _ in range(3)] == [([1, 2], 1)] * 3
    database.execute("INSERT INTO t VALUES (3)")
    assert looked(session) == [1, 2, 3]
    assert looked(session, least=1) == [2, 3], "another value is another look"


def test_a_plan_that_no_longer_fits_is_dropped_and_the_look_is_made(session: Connection, database: Database) -> None:
    for _ in range(4):
        looked(session)
    database.execute("ALTER TABLE t ALTER n TYPE text")
    with pytest.raises(errors.UndefinedFunction):
        looked(session)
    assert kept(session) == 0
    database.execute("ALTER TABLE t ALTER n TYPE bigint USING n::bigint")
    for _ in range(4):
        looked(session)
    database.execute("ALTER TABLE t ALTER n TYPE smallint")
    assert looked(session) == [1, 2]
    assert kept(session) == 0


def test_a_session_whose_plans_are_gone_makes_the_look_without_them(session: Connection) -> None:
    for _ in range(4):
        looked(session)
    session.execute("DISCARD ALL")
    assert [(looked(session), kept(session)) for _ in range(5)] == [([1, 2], 0)] * 5


def test_a_look_that_is_cut_off_keeps_its_plan(session: Connection, database: Database) -> None:
    for _ in range(4):
        looked(session)
    session.execute("SET lock_timeout = 10")
    holder = database.connect(autocommit=False)
    holder.execute("LOCK TABLE t")
    with pytest.raises(errors.LockNotAvailable):
        looked(session)
    holder.rollback()
    assert (looked(session), kept(session)) == ([1, 2], 1)


def test_a_plan_is_made_anew_after_ten_minutes(session: Connection) -> None:
    now = [0.0]
    plans = KeptPlans(lambda: session, lambda: now[0])
    sent = [plans.statement(b"SELECT n FROM t") for _ in range(4)]
    assert sent[:2] == [b"SELECT n FROM t"] * 2
    assert re.fullmatch(rb"EXECUTE pgq_ops_[0-9a-f]{8}_1", sent[2])
    assert sent[2] == sent[3]
    now[0] = 601.0
    assert (plans.statement(b"SELECT n FROM t"), kept(session)) == (b"SELECT n FROM t", 0)


def test_of_more_looks_than_are_kept_each_is_made_and_none_is_lost_from_the_message_that_it_is_in(
    session: Connection,
) -> None:
    """As with a hundred job tables."""
    looks = [b"SELECT %d" % number for number in range(120)]
    now = [0.0]
    plans = KeptPlans(lambda: session, lambda: now[0])

    def answers(wanted: list[bytes]) -> list[int]:
        cursor = session.execute(plans.message(wanted))
        found = [cursor.fetchall()[0][0]]
        while cursor.nextset():
            found.append(cursor.fetchall()[0][0])
        return found

    assert [answers(looks) for _ in range(5)] == [list(range(120))] * 5
    assert kept(session) == 96
    now[0] = 601.0
    later = [b"SELECT %d + 0" % number for number in range(50)]
    assert [answers(later) for _ in range(4)] == [list(range(50))] * 4
    assert kept(session) == 50, "those that nobody asks any more made room"


def test_what_is_explained_is_planned_each_time(session: Connection) -> None:
    plans = kept_plans(session)
    assert {plans.statement(b"EXPLAIN SELECT FROM t") for _ in range(5)} == {b"EXPLAIN SELECT FROM t"}


def test_a_session_that_is_gone_is_not_kept_by_its_plans(database: Database) -> None:
    """An agent makes a new one each time that the database was away."""
    session = psycopg.connect(database.dsn, autocommit=True)
    for _ in range(4):
        assert bounded.planned(session, [composing.SQL("SELECT 1")], {}) == [[(1,)]]
    kept_one = weakref.ref(session)
    session.close()
    del session
    gc.collect()
    assert kept_one() is None


def test_a_look_that_is_put_together_anew_has_the_text_that_it_had(session: Connection) -> None:
    """Or each minute would leave some kilobytes in an agent that lives for months."""
    plans = kept_plans(session)

    def text(least: object, of: str = "n", **others: int) -> bytes:
        return plans.text(composing.SQL(f"SELECT {of} FROM t WHERE n = ANY(%(least)s)"), {"least": least, **others})

    assert text([1]) is text([1], oid=7)
    assert text([1]) is not text([1, 2])
    assert text([1]) != text([1], of="2 * n")
    assert text([1, 2]).endswith(b"ANY('{1,2}'::int2[])")
